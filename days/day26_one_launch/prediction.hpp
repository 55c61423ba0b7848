// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// What Day 26 foretells before anything is measured: the front door's kernel, from the plan it makes.
#pragma once

#include <gpu_bench/prediction.hpp>
#include <gpu_bench/read_cell.hpp>
#include <kernels/decode/plan.hpp>

#include <algorithm>
#include <cstdint>

namespace nanoserve::day26 {

/// The arithmetic of one page, from the arrival of its rows to the output: what the load-only read
/// of one page doesn't do. An earlier study took 0.45 to 0.55 us for it.
inline constexpr double kPageWorkUs = 0.5;

/// A page more for each warp after the first, when nobody waits for memory: its products and its
/// share of the loads. A guess from the issue slots, 15 % of 1.75 GHz.
inline constexpr double kNextPageUs = 0.15;

/// paged_decode by a plan: a launch; the length and the table in L2, the first row in DRAM, the
/// first page's arithmetic; then all bytes at DRAM's rate, or the pages of the busiest warp, what
/// takes longer; and a merge where several warps or thread blocks share a head.
[[nodiscard]] inline double predicted_decode_us(const gpu_bench::KnownGpu& gpu,
                                                const gpu_bench::ReadCell& cell,
                                                const DecodePlan& plan) {
    const std::int64_t thread_blocks =
        cell.num_seqs * cell.shape.num_kv_heads / plan.heads_per_block * plan.num_splits;
    const std::int64_t sharers = plan.num_warps / plan.heads_per_block * plan.num_splits;
    const std::int64_t pages = blocks_needed(blocks_needed(cell.seq_len, 16), sharers);
    const std::int64_t rounds = blocks_needed(thread_blocks, gpu.num_sms);
    const double walk_us = static_cast<double>(rounds * pages) * kNextPageUs;
    const double merge_us =
        plan.num_splits > 1 ? gpu.push_merge_us : sharers > 1 ? gpu.push_merge_us / 2 : 0.0;
    return gpu.launch_us(thread_blocks) + 2 * gpu.l2_wait_us + gpu.dram_wait_us + kPageWorkUs +
           std::max(gpu_bench::dram_us(gpu, cell), walk_us) + merge_us;
}

/// general_attention, for what paged_decode does not take: a thread block for each query head, which
/// waits for K and for V of 16 tokens in turn, 8 of them at once on an SM; or L2, which gives each
/// row to every query head of its group.
[[nodiscard]] inline double predicted_general_us(const gpu_bench::KnownGpu& gpu,
                                                 const gpu_bench::ReadCell& cell) {
    constexpr double kL2BytesPerUs = 5.5e6;  // a guess between DRAM and the ports of all SMs
    const std::int64_t thread_blocks = cell.num_seqs * cell.shape.num_q_heads;
    const std::int64_t steps = blocks_needed(cell.seq_len, std::min(cell.block_size, 32));
    const double walk_us =
        static_cast<double>(blocks_needed(thread_blocks, std::int64_t{8} * gpu.num_sms) * steps) *
        (2 * gpu.dram_wait_us + 0.4);
    const double kv_bytes = static_cast<double>(
        cell.shape.kv_bytes(cell.num_seqs * gpu_bench::mean_seq_len(cell), cell.dtype));
    const double l2_us = cell.shape.group_size() * kv_bytes / kL2BytesPerUs;
    return gpu.launch_us(thread_blocks) + 2 * gpu.l2_wait_us +
           std::max({gpu_bench::dram_us(gpu, cell), l2_us, walk_us});
}

/// The front door. A long history among short ones is walked by its own thread blocks alone.
[[nodiscard]] double predicted_us(const gpu_bench::ReadCell& cell);

}  // namespace nanoserve::day26
