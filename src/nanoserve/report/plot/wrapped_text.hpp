// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// Text that has to fit: counting, cutting and breaking UTF-8 by characters (code points).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace nanoserve::report {

/// The number of code points in `text`.
[[nodiscard]] std::size_t num_characters(std::string_view text);

/// `text`, cut to `width` characters with "…" at its end where it is longer. `width` is at least 1.
[[nodiscard]] std::string shortened(std::string_view text, std::size_t width);

/// `text` broken at spaces into lines of at most `width` characters; a longer word is cut. No-break
/// spaces hold words together.
[[nodiscard]] std::vector<std::string> wrapped(std::string_view text, std::size_t width);

}  // namespace nanoserve::report
