// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// What Day 26 foretells before anything is measured: the front door's kernel, from the plan it
// makes.
#pragma once

#include <gpu_bench/prediction.hpp>
#include <gpu_bench/read_cell.hpp>
#include <kernels/decode/plan.hpp>
#include <kernels/dispatch.hpp>

#include <algorithm>
#include <cstdint>

namespace nanoserve::day26 {

using gpu_bench::KnownGpu;
using gpu_bench::ReadCell;

/// The arithmetic of one page, from the arrival of its rows to the output: what the load-only read
/// of one page doesn't do. An earlier study took 0.45 to 0.55 us for it.
inline constexpr double kPageWorkUs = 0.5;

/// Each further page of a warp, when it waits for nothing: a guess of 260 cycles at 1.75 GHz.
inline constexpr double kNextPageUs = 0.15;

/// What the front door gets, without a pointer: its choice and its plan look at sizes alone.
[[nodiscard]] inline PagedAttentionParams sizes_of(const ReadCell& cell) {
    const BlockTables tables = gpu_bench::make_tables(cell);
    PagedAttentionParams params;
    params.io_dtype = cell.io_dtype;
    params.num_q_heads = cell.shape.num_q_heads;
    params.kv.layout =
        gpu_bench::layout_of(cell, gpu_bench::num_used_blocks(tables, cell.block_size));
    params.num_seqs = cell.num_seqs;
    params.max_blocks_per_seq = tables.max_blocks_per_seq;
    return params;
}

/// The plan of paged_decode for these sizes, with a workspace or without.
[[nodiscard]] inline DecodePlan plan_of(const PagedAttentionParams& params,
                                        bool has_workspace = false) {
    return plan_decode(load_of(params, has_workspace), {.num_sms = KnownGpu{}.num_sms});
}

[[nodiscard]] inline std::int64_t thread_blocks_of(const ReadCell& cell, const DecodePlan& plan) {
    return cell.num_seqs * cell.shape.num_kv_heads / plan.heads_per_block * plan.num_splits;
}

/// paged_decode: a launch; the length and the table in L2, the first row in DRAM, the first page's
/// arithmetic; then all bytes at DRAM's rate, or the pages of the busiest warp, whichever takes
/// longer; and a merge where several warps, or several thread blocks, share a head.
[[nodiscard]] inline double predicted_decode_us(const KnownGpu& gpu, const ReadCell& cell,
                                                const DecodePlan& plan) {
    const std::int64_t thread_blocks = thread_blocks_of(cell, plan);
    const std::int64_t sharers = plan.num_warps / plan.heads_per_block * plan.num_splits;
    const std::int64_t pages =
        blocks_needed(blocks_needed(gpu_bench::mean_seq_len(cell), 16), sharers);
    const std::int64_t rounds = blocks_needed(thread_blocks, gpu.num_sms);
    const double walk_us = static_cast<double>(rounds * pages) * kNextPageUs;
    const double merge_us =
        plan.num_splits > 1 ? gpu.push_merge_us : (sharers > 1 ? gpu.push_merge_us / 2 : 0.0);
    return gpu.launch_us(thread_blocks) + 2 * gpu.l2_wait_us + gpu.dram_wait_us + kPageWorkUs +
           std::max(gpu_bench::dram_us(gpu, cell), walk_us) + merge_us;
}

/// general_attention, for what paged_decode does not take. A thread block for each query head waits
/// for K, then for V, of a KV block or 32 tokens, 8 thread blocks at once on an SM; or L2 is the
/// limit, which gives each row to every query head of its group.
[[nodiscard]] inline double predicted_general_us(const KnownGpu& gpu, const ReadCell& cell) {
    constexpr double kStepWorkUs = 0.4;      // barriers and arithmetic, a guess
    constexpr double kL2BytesPerUs = 5.5e6;  // a guess between DRAM and the ports of all SMs
    const std::int64_t thread_blocks = cell.num_seqs * cell.shape.num_q_heads;
    const std::int64_t steps = blocks_needed(cell.seq_len, std::min(cell.block_size, 32));
    const std::int64_t rounds = blocks_needed(thread_blocks, std::int64_t{8} * gpu.num_sms);
    const double walk_us =
        static_cast<double>(rounds * steps) * (2 * gpu.dram_wait_us + kStepWorkUs);
    const double l2_us = cell.shape.group_size() * gpu_bench::dram_us(gpu, cell) *
                         gpu.dram_bytes_per_us(gpu_bench::row_bytes(cell)) / kL2BytesPerUs;
    return gpu.launch_us(thread_blocks) + 2 * gpu.l2_wait_us +
           std::max({gpu_bench::dram_us(gpu, cell), l2_us, walk_us});
}

/// paged_attention on one cell: the kernel that it chooses, by the plan that it makes. Where
/// lengths differ, all SMs share the bytes: the mean length counts, and the merge.
[[nodiscard]] inline double predicted_us(const ReadCell& cell) {
    const KnownGpu gpu;
    const PagedAttentionParams params = sizes_of(cell);
    if (reason_not_to_decode(params)) {
        return predicted_general_us(gpu, cell);
    }
    return predicted_decode_us(gpu, cell, plan_of(params));
}

/// The same with a workspace: the lengths of all sequences are added up, and parts meet in global
/// memory, the last of them some 17 and more for each row.
[[nodiscard]] inline double predicted_balanced_us(const ReadCell& cell) {
    constexpr double kScheduleUs = 1.0;   // two passes over the lengths, a guess
    constexpr double kLastMergeUs = 3.0;  // two trips through L2 and a counter, a guess
    const KnownGpu gpu;
    return predicted_decode_us(gpu, cell, plan_of(sizes_of(cell), true)) + kScheduleUs +
           kLastMergeUs;
}

/// The same when each launch may start while the one before it ends: what a launch costs beside
/// its work is hidden but for the wait itself. The other kernels start as ever, and so do the
/// first waits: no load may be made before the kernel before has ended.
[[nodiscard]] inline double predicted_overlapping_us(const ReadCell& cell) {
    constexpr double kHiddenUs = 0.4;  // of the 0.54 of a launch of few thread blocks, a guess
    return predicted_us(cell) - kHiddenUs;
}

}  // namespace nanoserve::day26
