// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kernels/general/host_device.hpp>

#include <cstdint>

// How the tiles of a batch are shared out when lengths differ. Every thread block works the same
// schedule out from seq_lens, so nobody plans on the host and lengths may change under a captured
// graph.
//
// A row is a KV head of a sequence. Its own thread block reads it, at most `own_limit` tiles. What
// is left of longer rows, their tails, one behind the other, is cut into equal ranges, one for each
// helper: a thread block more, that starts beside those of the rows where there are few, and where
// there are many when one of them has ended. A tail in several ranges is several pieces. All counts
// fit 31 bits: can_balance() sees to it.

namespace nanoserve {

/// Tiles of one row, read in turn by the warps of a thread block.
struct TileRange {
    std::int32_t begin = 0;  ///< the first
    std::int32_t end = 0;    ///< behind the last
};

/// The part of the schedule that depends on all lengths.
struct Schedule {
    std::int32_t own_limit = 0;     ///< tiles of a row that its own thread block reads
    std::int32_t tail_tiles = 0;    ///< of all rows
    std::int32_t helper_tiles = 1;  ///< of each range of tails, but for the last
};

/// Where a row's tail stands among all tails.
struct RowTail {
    std::int32_t begin = 0;      ///< its first tile
    std::int32_t rank = 0;       ///< rows with a tail before it
    std::int32_t num_tiles = 0;  ///< 0: the row has no tail
};

/// Tiles that a thread block reads of its own row in any case: for less, a merge costs more than it
/// saves.
constexpr std::int32_t kSmallestOwnLimit = 64;

//! [own limit]
/// The tiles of a row that its own thread block reads: what each would read if all had the same,
/// in as many rounds as the GPU needs for them.
/// @param seq_tiles tiles of all sequences, one KV head each
/// @param num_seqs, blocks_per_seq sequences, and thread blocks for the KV heads of each; not 0
/// @param num_resident thread blocks that the GPU holds at once
NANOSERVE_DEVICE inline std::int32_t own_limit(std::int32_t seq_tiles, std::int32_t num_seqs,
                                               std::int32_t blocks_per_seq,
                                               std::int32_t num_resident) {
    const std::int32_t rounds = (num_seqs * blocks_per_seq + num_resident - 1) / num_resident;
    const std::int32_t share = seq_tiles * blocks_per_seq / (num_resident * rounds);
    return share > kSmallestOwnLimit ? share : kSmallestOwnLimit;
}
//! [own limit]

//! [tail tiles]
/// The tiles of a row behind what its own thread block reads; none when that is less than half as
/// many again.
NANOSERVE_DEVICE inline std::int32_t tail_tiles(std::int32_t row_tiles, std::int32_t own_limit) {
    const std::int32_t behind = row_tiles - own_limit;
    return behind > own_limit / 2 ? behind : 0;
}
//! [tail tiles]

//! [num ranges]
/// The ranges that all tails are cut into, one for each helper that works. If there are more thread
/// blocks for the rows than the GPU holds, all helpers do, as many as it holds. If not, as many as
/// find room beside those that read up to the limit, since the others soon end, but one at least.
/// @param full_blocks thread blocks whose rows have the limit's tiles or more
/// @param num_blocks of all rows
/// @param num_resident thread blocks that the GPU holds at once
NANOSERVE_DEVICE inline std::int32_t num_ranges(std::int32_t full_blocks, std::int32_t num_blocks,
                                                std::int32_t num_resident) {
    if (num_blocks > num_resident) {
        return num_resident;
    }
    const std::int32_t left = num_resident - full_blocks;
    return left > 1 ? left : 1;
}
//! [num ranges]

//! [helper tiles]
/// The tiles of each helper's range: all tails in equal parts, rounded up.
NANOSERVE_DEVICE inline std::int32_t helper_tiles(std::int32_t tail_tiles,
                                                  std::int32_t num_ranges) {
    const std::int32_t part = (tail_tiles + num_ranges - 1) / num_ranges;
    return part > 0 ? part : 1;
}
//! [helper tiles]

/// The first helper whose range meets a row's tail. The pieces of a tail are numbered by helpers.
NANOSERVE_DEVICE inline std::int32_t first_helper(const Schedule& schedule, const RowTail& tail) {
    return tail.begin / schedule.helper_tiles;
}

/// The pieces of a row's tail, 0 if it has none.
NANOSERVE_DEVICE inline std::int32_t num_pieces(const Schedule& schedule, const RowTail& tail) {
    if (tail.num_tiles == 0) {
        return 0;
    }
    const std::int32_t last = (tail.begin + tail.num_tiles - 1) / schedule.helper_tiles;
    return last - first_helper(schedule, tail) + 1;
}

//! [piece tiles]
/// The tiles of a row in the piece that starts at tile `at` of all tails and goes on to the end of
/// the tail or of the helper's range.
NANOSERVE_DEVICE inline TileRange piece_tiles(const Schedule& schedule, const RowTail& tail,
                                              std::int32_t at) {
    const std::int32_t range_end = (at / schedule.helper_tiles + 1) * schedule.helper_tiles;
    const std::int32_t tail_end = tail.begin + tail.num_tiles;
    const std::int32_t end = range_end < tail_end ? range_end : tail_end;
    return {.begin = schedule.own_limit + at - tail.begin,
            .end = schedule.own_limit + end - tail.begin};
}
//! [piece tiles]

/// Where the partial result of a piece stands in the workspace: different for all pieces, since
/// from one to the next either the helper or the row is another.
NANOSERVE_DEVICE inline std::int32_t piece_slot(const RowTail& tail, std::int32_t helper) {
    return tail.rank + helper;
}

}  // namespace nanoserve
