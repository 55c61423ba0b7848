// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include "text.hpp"

#include <algorithm>

namespace nanoserve::pages {

std::string_view trimmed(std::string_view text) {
    constexpr std::string_view kBlanks = " \t\r\n";
    const std::size_t begin = text.find_first_not_of(kBlanks);
    return begin == std::string_view::npos
               ? std::string_view()
               : text.substr(begin, text.find_last_not_of(kBlanks) + 1 - begin);
}

std::pair<std::string_view, std::string_view> cut(std::string_view text,
                                                  std::string_view separator) {
    const std::size_t at = text.find(separator);
    if (at == std::string_view::npos) {
        return {trimmed(text), {}};
    }
    return {trimmed(text.substr(0, at)), trimmed(text.substr(at + separator.size()))};
}

std::vector<std::string_view> split(std::string_view text, std::string_view separator) {
    std::vector<std::string_view> parts;
    while (!text.empty()) {
        const std::size_t at = std::min(text.find(separator), text.size());
        if (const std::string_view part = trimmed(text.substr(0, at)); !part.empty()) {
            parts.push_back(part);
        }
        text.remove_prefix(std::min(text.size(), at + separator.size()));
    }
    return parts;
}

std::size_t line_of(std::string_view text, std::size_t position) {
    const std::string_view before = text.substr(0, position);
    return 1 + static_cast<std::size_t>(std::count(before.begin(), before.end(), '\n'));
}

}  // namespace nanoserve::pages
