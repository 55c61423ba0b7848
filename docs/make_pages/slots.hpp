// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// Where a page holds something that the build fills in. A slot is written in one of two ways:
//
//   {{day-20-readbench: best_us, ...}}
//       in docs/: the build writes the page anew
//   <!-- {{day-20-readbench: best_us, ...}} -->1.19 ms<!-- /-->
//       in the README, which is read as it is and so kept filled
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace nanoserve::pages {

/// A stretch of a page: plain text, or a slot.
struct Piece {
    std::string_view text;      ///< all of it, as the page has it
    std::string_view query;     ///< what a slot asks for, trimmed; empty for plain text
    std::string_view kept;      ///< what stands between a slot's two comments
    std::size_t line = 1;       ///< where it begins, counted from 1
    bool is_slot = false;       ///< plain text, or a slot?
    bool is_kept_slot = false;  ///< does the slot have comments around it?
};

/// The page as pieces in order; together their `text` is the page. Throws `PageError` naming the
/// line for a slot that is never closed and for a kept slot without its closing comment.
[[nodiscard]] std::vector<Piece> split_page(std::string_view page);

}  // namespace nanoserve::pages
