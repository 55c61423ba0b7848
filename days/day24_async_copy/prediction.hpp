// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// What Day 24 foretells before its record is taken: Little's law for the bytes, a count of
// instructions for the arithmetic. (Throw-away timings of the kernel had been seen; nothing here
// was fitted to them.)
#pragma once

#include "cells.hpp"

#include <gpu_bench/prediction.hpp>
#include <gpu_bench/read_cell.hpp>
#include <kernels/async_copy/plan.hpp>

#include <algorithm>
#include <cstdint>

namespace nanoserve::day24 {

using gpu_bench::KnownGpu;
using gpu_bench::ReadCell;

/// The SM clock under load, cycles per us, and the warps that start an instruction in each.
inline constexpr double kCyclesPerUs = 1750.0;
inline constexpr int kIssuePorts = 4;

/// Instructions of a warp for one tile of 16 tokens, in fp32 on the CUDA cores. A lane has
/// head_dim / 16 chunks of K and as many of V: to load one, to widen its 8 elements, and 8
/// multiplications for each query head. The sum over a row's lanes takes 4 for each head and chunk,
/// a weight's way to the lanes that need it 1. 60 for the softmax, the copies and the loop.
[[nodiscard]] inline double fp32_instructions(const AttentionShape& shape) {
    const double chunks = shape.head_dim / 16.0;
    const double heads = shape.group_size();
    return 2 * chunks * (1 + 8 + 8 * heads) + 5 * chunks * heads + 60;
}

/// The time from one tile of a warp to its next. Either it computes all the time, or it waits: a
/// stage is asked for when its tile was used, and its turn comes again num_stages tiles later.
/// @param wait_us from asking to arrival
/// @param work_us of one tile, with the other warps of the SM at work
[[nodiscard]] inline double tile_us(double wait_us, double work_us, int num_stages) {
    return std::max(work_us, (wait_us + work_us) / num_stages);
}

/// The plan on an H200.
[[nodiscard]] inline AsyncCopyPlan plan_of(const ReadCell& cell) {
    return plan_async_copy(
        {.num_seqs = cell.num_seqs,
         .num_kv_heads = cell.shape.num_kv_heads,
         .max_tokens = blocks_needed(cell.seq_len, cell.block_size) * cell.block_size,
         .bytes_per_row = gpu_bench::row_bytes(cell)},
        KnownGpu{}.num_sms);
}

/// A walk and the merge behind it: a launch; length and table in L2, the first rows in DRAM, their
/// arithmetic; then all bytes at DRAM's rate or the tiles of a warp, whichever takes longer; and a
/// second launch.
/// @param work_us of one tile of a warp
[[nodiscard]] inline double predicted_walk_us(const ReadCell& cell, const AsyncCopyPlan& plan,
                                              double work_us) {
    const KnownGpu gpu;
    const std::int64_t thread_blocks =
        cell.num_seqs * cell.shape.num_kv_heads / plan.heads_per_block * plan.num_splits;
    const std::int64_t sharers = plan.num_warps / plan.heads_per_block * plan.num_splits;
    const std::int64_t tiles = blocks_needed(blocks_needed(cell.seq_len, 16), sharers);
    const std::int64_t rounds = blocks_needed(thread_blocks, gpu.num_sms);
    const double walk_us =
        static_cast<double>(rounds * tiles) * tile_us(gpu.dram_wait_us, work_us, plan.num_stages);
    return gpu.launch_us(thread_blocks) + 2 * gpu.l2_wait_us + gpu.dram_wait_us + work_us +
           std::max(gpu_bench::dram_us(gpu, cell), walk_us) + gpu.second_launch_us;
}

/// The work of one tile on the CUDA cores: the warps of an SM share its ports.
[[nodiscard]] inline double fp32_work_us(const ReadCell& cell, const AsyncCopyPlan& plan) {
    const double warps_per_port = std::max(1.0, static_cast<double>(plan.num_warps) / kIssuePorts);
    return fp32_instructions(cell.shape) * warps_per_port / kCyclesPerUs;
}

/// async_copy_attention as its plan says.
[[nodiscard]] inline double predicted_us(const ReadCell& cell) {
    const AsyncCopyPlan plan = plan_of(cell);
    return predicted_walk_us(cell, plan, fp32_work_us(cell, plan));
}

/// async_copy_attention with so many stages.
[[nodiscard]] inline double predicted_stages_us(const ReadCell& cell, int num_stages) {
    const AsyncCopyPlan plan = with_stages(plan_of(cell), num_stages, cell.shape.head_dim);
    return predicted_walk_us(cell, plan, fp32_work_us(cell, plan));
}

/// Day 23's kernel as today's would be without copies on their way while it computes: one stage.
[[nodiscard]] inline double predicted_split_kv_us(const ReadCell& cell) {
    AsyncCopyPlan plan = plan_of(cell);
    plan.num_stages = 1;
    return predicted_walk_us(cell, plan, fp32_work_us(cell, plan));
}

}  // namespace nanoserve::day24
