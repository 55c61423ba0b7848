// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <nanoserve/report/plot/wrapped_text.hpp>

#include <algorithm>

namespace nanoserve::report {
namespace {

// All bytes of a character but its first are 10xxxxxx in binary.
bool begins_character(char byte) {
    return (static_cast<unsigned char>(byte) & 0xC0U) != 0x80U;
}

}  // namespace

std::size_t num_characters(std::string_view text) {
    return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), begins_character));
}

std::string shortened(std::string_view text, std::size_t width) {
    if (num_characters(text) <= width) {
        return std::string(text);
    }
    std::size_t end = 0;
    for (std::size_t kept = 0; end < text.size(); ++end) {
        kept += begins_character(text[end]) ? 1 : 0;
        if (kept == width) {
            break;
        }
    }
    return std::string(text.substr(0, end)) + "…";
}

std::vector<std::string> wrapped(std::string_view text, std::size_t width) {
    std::vector<std::string> lines;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find(' '), text.size());
        const std::string word = shortened(text.substr(0, end), width);
        text.remove_prefix(std::min(end + 1, text.size()));
        if (lines.empty() || num_characters(lines.back()) + 1 + num_characters(word) > width) {
            lines.push_back(word);
        } else {
            lines.back() += " " + word;
        }
    }
    return lines;
}

}  // namespace nanoserve::report
