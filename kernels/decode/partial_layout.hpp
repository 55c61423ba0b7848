// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace nanoserve {

/// Bytes of a FragmentSet.
constexpr int fragment_set_bytes(int num_fragments) {
    return num_fragments * 32 * 16 + 4 * 16;
}

/// How fragments of the same query heads lie in memory, shared or global: 16 bytes for each lane of
/// each fragment, behind them the scales, 16 bytes for each pair of heads: their maxima and sums of
/// weights. Offsets are in bytes.
template <int kNumFragments>
struct FragmentSet {
    static constexpr int kBytes = fragment_set_bytes(kNumFragments);
    static constexpr unsigned kScales = kBytes - 4 * 16;

    [[nodiscard]] static constexpr unsigned entry(unsigned fragment, unsigned lane) {
        return (fragment * 32 + lane) * 16;
    }
    [[nodiscard]] static constexpr unsigned scale(unsigned pair) { return kScales + pair * 16; }
};

/// An entry of a partial result: what one lane, 4 * row + pair, holds of one fragment.
struct FragmentEntry {
    unsigned fragment, lane;

    [[nodiscard]] constexpr unsigned row() const { return lane / 4; }
    [[nodiscard]] constexpr unsigned pair() const { return lane % 4; }
};

/// What is pushed: fragments that have their scales each.
using PushedFragment = FragmentSet<1>;

/// The entries whose heads exist, one after the other: a group of up to 4 has its heads in the
/// first two pairs.
struct LiveEntries {
    int pairs_log2;

    [[nodiscard]] static constexpr int pairs_log2_of(int group_size) {
        return group_size <= 4 ? 1 : 2;
    }
    /// How many there are in so many fragments.
    [[nodiscard]] constexpr unsigned count(unsigned num_fragments) const {
        return num_fragments << (3 + pairs_log2);
    }
    /// Bytes of a fragment's entries and scales.
    [[nodiscard]] constexpr unsigned bytes() const { return 9u << pairs_log2 << 4; }

    [[nodiscard]] constexpr FragmentEntry operator[](unsigned i) const {
        const unsigned pair = i & ((1u << pairs_log2) - 1);
        return {i >> (3 + pairs_log2), (i >> pairs_log2 & 7) * 4 + pair};
    }
};

}  // namespace nanoserve
