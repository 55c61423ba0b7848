// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace nanoserve {

/// How a fragment lies in memory, shared or global: an entry for each row and pair of heads, then
/// for each pair of heads its maxima and sums of weights. In units of float4.
struct FragmentLayout {
    int pairs_log2;  ///< 1 where a group has up to 4 query heads, else 2

    explicit constexpr FragmentLayout(int group_size) : pairs_log2(group_size <= 4 ? 1 : 2) {}

    [[nodiscard]] constexpr int entries_log2() const { return 3 + pairs_log2; }
    [[nodiscard]] constexpr int size() const { return 9 << pairs_log2; }
    [[nodiscard]] constexpr int bytes() const { return size() * 16; }
    [[nodiscard]] constexpr int pair(int entry) const { return entry & ((1 << pairs_log2) - 1); }
    [[nodiscard]] constexpr int row(int entry) const { return entry >> pairs_log2; }
    [[nodiscard]] constexpr int scale(int pair) const { return (8 << pairs_log2) + pair; }
};

}  // namespace nanoserve
