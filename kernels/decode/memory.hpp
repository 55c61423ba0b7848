// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kernels/decode/plan.hpp>

#include <cstdint>

namespace nanoserve {

/// Thread blocks of 8 warps that an SM holds, at most.
constexpr int kMaxBlocksPerSm = 2;

/// Thread blocks of 8 warps that an SM holds. Rows of 64 bytes take the most arithmetic for each
/// byte, and more of it is under way with 16 warps; longer rows gain nothing from it.
constexpr int blocks_per_sm(int row_bytes, int head_tiles) {
    return row_bytes <= 64 && head_tiles == 1 ? kMaxBlocksPerSm : 1;
}

/// Bytes of a stage of a ring: a tile's K and V, 16 tokens each.
constexpr int stage_bytes(int row_bytes) {
    return 2 * 16 * row_bytes;
}

/// Tiles of K and V that a warp has on their way: about 16 KB, so that 8 warps have 96 to 144 KB,
/// or about 12 KB of 16 warps. An H200 gains nothing from more, and short histories lose.
constexpr int ring_stages(int row_bytes, int head_tiles) {
    const int ring_bytes = blocks_per_sm(row_bytes, head_tiles) == 2 ? 12288 : 16384;
    return (ring_bytes + stage_bytes(row_bytes) / 2) / stage_bytes(row_bytes);
}

/// The shared memory of a thread block, in bytes: the warps' rings, in which they later leave their
/// partial results; behind them, where a history is split, what the thread blocks of the cluster
/// push here, and the barrier that counts its bytes.
struct DecodeMemory {
    std::int32_t ring_bytes;    ///< of one warp
    std::int32_t pushed;        ///< where the first thread block of the cluster pushes
    std::int32_t pushed_bytes;  ///< of each
    std::int32_t barrier;       ///< where it is
    std::int32_t num_bytes;     ///< of all
};

/// The shared memory that a plan takes. A warp has as many stages as tiles, and room for its
/// partial result if there is one to merge; in a balanced launch all of both.
[[nodiscard]] DecodeMemory divide_memory(const DecodePlan& plan, const DecodeLoad& load);

}  // namespace nanoserve
