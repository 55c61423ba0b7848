// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// Diagrams of how a sequence lies in a pool, drawn from what the days' programs print of it:
//
//   A  logical    0        1        2
//      physical   3        6        4
//      tokens     0 1 2 3  4 5 6 7  8 9 . .
//
//   pool  block   0   1   2   3   4   5   6   7
//         holder  .   .   B2  A0  A2  B1  A1  B0
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace nanoserve::pages {

/// The printed picture of a pool.
struct PrintedPool {
    /// One sequence's table, and its tokens block by block; "." is a slot without a token.
    struct Sequence {
        std::vector<int> physical;
        std::vector<std::string> tokens;
    };

    std::map<std::string, Sequence> sequences;  ///< by their letter
    std::vector<std::string> holders;           ///< by physical block; "." is a free one
};

/// Throws `PageError` for a text without a pool, a sequence whose lines don't fit each other, and a
/// table that names a block which the pool doesn't have or gives to somebody else.
[[nodiscard]] PrintedPool parse_printed_pool(std::string_view text);

/// For dot: the table of sequence `letter`, the pool, and the history that gather copies out of it.
/// Throws `PageError` when there is no such sequence.
[[nodiscard]] std::string gather_diagram(const PrintedPool& pool, const std::string& letter);

/// For dot: the pool, and the read of `letter`'s K and V rows where they lie.
/// Throws `PageError` when there is no such sequence.
[[nodiscard]] std::string fused_diagram(const PrintedPool& pool, const std::string& letter);

}  // namespace nanoserve::pages
