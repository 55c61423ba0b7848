// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cctype>
#include <cstddef>
#include <string_view>

namespace nanoserve::report::testing {

/// Whether `text` has the word "nan" or "inf", which is how a number that isn't one is printed.
[[nodiscard]] inline bool has_broken_number(std::string_view text) {
    const auto is_letter = [&](std::size_t at) {
        return at < text.size() && std::isalpha(static_cast<unsigned char>(text[at])) != 0;
    };
    for (const std::string_view word : {"nan", "inf"}) {
        for (std::size_t at = text.find(word); at != std::string_view::npos;
             at = text.find(word, at + 1)) {
            if (!is_letter(at - 1) && !is_letter(at + word.size())) {
                return true;
            }
        }
    }
    return false;
}

}  // namespace nanoserve::report::testing
