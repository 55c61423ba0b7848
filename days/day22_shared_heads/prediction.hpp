// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// What Day 22 foretells before anything is measured: the kernel's loads, and its instructions. (A
// throw-away timing of an earlier form of the kernel had been seen; nothing here was fitted to it.)
#pragma once

#include <day21_kernel/prediction.hpp>
#include <gpu_bench/prediction.hpp>
#include <gpu_bench/read_cell.hpp>
#include <kernels/shared_heads/config.hpp>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

namespace nanoserve::day22 {

using gpu_bench::KnownGpu;
using gpu_bench::ReadCell;

/// The cells of the day: the road's two shapes, from one sequence to a full chip.
[[nodiscard]] inline std::vector<ReadCell> cells() {
    std::vector<ReadCell> cells;
    for (const std::int32_t head_dim : {64, 128}) {
        for (const std::int64_t num_seqs : {1, 8, 64}) {
            for (const std::int64_t seq_len : {256, 1024, 4096}) {
                cells.push_back(
                    {.shape = {32, 8, head_dim}, .num_seqs = num_seqs, .seq_len = seq_len});
            }
        }
    }
    return cells;
}

/// Warps of a thread block, and rows of K that a lane asks for at once, for groups of up to 4.
inline constexpr int kNumWarps = SharedHeadsConfig<Bf16, 4>::kNumWarps;
inline constexpr int kSteps = SharedHeadsConfig<Bf16, 4>::kSteps;

/// Thread blocks on an SM, and its schedulers, each of which starts one instruction in a cycle.
inline constexpr std::int64_t kResident = SharedHeadsConfig<Bf16, 4>::kThreadBlocksPerSm;
inline constexpr int kSchedulers = 4;
inline constexpr double kCyclesPerUs = 1750.0;

/// From the last tile to the output: the readers of a warp, then the warps. A guess.
inline constexpr double kMergeUs = 0.5;

/// Lanes that read a row together.
[[nodiscard]] inline int chunks_of(const ReadCell& cell) {
    return static_cast<int>(gpu_bench::row_bytes(cell) / kChunkBytes);
}

/// Tokens that a warp takes with one tile.
[[nodiscard]] inline std::int64_t tile_tokens(const ReadCell& cell) {
    return std::int64_t{kSteps} * (32 / chunks_of(cell));
}

/// Instructions of a warp for one tile, 16-bit elements, counted from the source: for each of its
/// rows and heads 8 products with K, 8 with V, a shuffle and an addition for each exchange, and 6
/// to mask, compare, weigh and add up the score; for each row 16 conversions and 20 to find and
/// load it; for each head 12 to move its sums.
[[nodiscard]] inline double tile_instructions(const ReadCell& cell) {
    const int heads = cell.shape.group_size();
    const int exchanges = std::countr_zero(static_cast<unsigned>(chunks_of(cell)));
    return kSteps * (heads * (16 + 2 * exchanges + 6) + 16 + 20) + heads * 12;
}

/// The kernel, its histories cut into `num_splits` parts: a launch; the length and the table in L2,
/// the first row in DRAM; then the bytes at DRAM's rate, or the tiles of each warp, whichever takes
/// longer; and the merge. A tile takes a warp a wait for DRAM and its instructions, or those of all
/// warps that share its scheduler.
[[nodiscard]] inline double predicted_group_us(const ReadCell& cell, std::int64_t num_splits) {
    const KnownGpu gpu;
    const std::int64_t thread_blocks = cell.num_seqs * cell.shape.num_kv_heads * num_splits;
    const std::int64_t resident =
        std::min(kResident, blocks_needed(thread_blocks, gpu.num_sms));  // on one SM
    const std::int64_t rounds = blocks_needed(thread_blocks, gpu.num_sms * resident);
    const std::int64_t tiles =
        blocks_needed(blocks_needed(cell.seq_len, num_splits), kNumWarps * tile_tokens(cell));
    const double work_us = tile_instructions(cell) / kCyclesPerUs;
    const double sharers = static_cast<double>(resident * kNumWarps) / kSchedulers;
    const double tile_us = std::max(gpu.dram_wait_us + work_us, sharers * work_us);
    const double walk_us = static_cast<double>(rounds * tiles) * tile_us;
    return gpu.launch_us(thread_blocks) + 2 * gpu.l2_wait_us + gpu.dram_wait_us +
           std::max(gpu_bench::dram_us(gpu, cell), walk_us) + kMergeUs;
}

/// shared_heads_attention.
[[nodiscard]] inline double predicted_us(const ReadCell& cell) {
    return predicted_group_us(cell, 1);
}

/// general_attention, as Day 21 foretold it.
[[nodiscard]] inline double predicted_general_us(const ReadCell& cell) {
    return day21::predicted_kernel_us({}, {.shape = cell.shape,
                                           .num_seqs = cell.num_seqs,
                                           .seq_len = cell.seq_len,
                                           .dtype = cell.dtype});
}

}  // namespace nanoserve::day22
