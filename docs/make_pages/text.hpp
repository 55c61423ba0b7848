// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// Small cuts of text that every part of the page maker needs.
#pragma once

#include <cstddef>
#include <string_view>
#include <utility>
#include <vector>

namespace nanoserve::pages {

/// `text` without blanks and line ends at both sides.
[[nodiscard]] std::string_view trimmed(std::string_view text);

/// What stands before and behind the first `separator`, both trimmed; the second is empty when
/// there is no separator.
[[nodiscard]] std::pair<std::string_view, std::string_view> cut(std::string_view text,
                                                                std::string_view separator);

/// The parts between separators, each trimmed; empty parts are left out.
[[nodiscard]] std::vector<std::string_view> split(std::string_view text,
                                                  std::string_view separator);

/// The line, counted from 1, on which the character at `position` stands.
[[nodiscard]] std::size_t line_of(std::string_view text, std::size_t position);

}  // namespace nanoserve::pages
