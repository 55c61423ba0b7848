// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// What Day 27 foretells before anything is measured: Day 26's walk over half the bytes, and what it
// takes to turn them into numbers.
#pragma once

#include <day26_one_launch/prediction.hpp>
#include <gpu_bench/prediction.hpp>
#include <gpu_bench/read_cell.hpp>

#include <algorithm>
#include <cstdint>

namespace nanoserve::day27 {

using gpu_bench::KnownGpu;
using gpu_bench::ReadCell;

/// A warp turns 64 elements of e4m3 into fp16 by one conversion instruction. One warp alone, whose
/// conversions wait for each other, took 7.4 cycles for two in an earlier study; at 1.75 GHz.
inline constexpr double kConversionUs = 7.4 / 2 / 1750;

/// Turning K and V of one page, 16 tokens of one KV head, into numbers.
[[nodiscard]] inline double page_conversion_us(const ReadCell& cell) {
    const std::int64_t elements = std::int64_t{2} * 16 * cell.shape.head_dim;
    return static_cast<double>(elements / 64) * kConversionUs;
}

/// paged_decode over a pool of fp8, by the plan that Day 26's kernel makes for rows of so many
/// bytes. Terms that count the pages of a warp carry the conversions of each; the bytes are half of
/// bf16's. They need not go twice as fast: a row of head_dim 64 has 64 bytes, half of a cache line,
/// and the other half is another KV head's, so DRAM's rate depends on reading both together.
[[nodiscard]] inline double predicted_fp8_us(const KnownGpu& gpu, const ReadCell& cell) {
    const DecodePlan plan = day26::plan_of(day26::sizes_of(cell));
    const std::int64_t thread_blocks = day26::thread_blocks_of(cell, plan);
    const std::int64_t sharers = plan.num_warps / plan.heads_per_block * plan.num_splits;
    const std::int64_t pages = blocks_needed(blocks_needed(cell.seq_len, 16), sharers);
    const std::int64_t rounds = blocks_needed(thread_blocks, gpu.num_sms);
    const double walk_us =
        static_cast<double>(rounds * pages) * (day26::kNextPageUs + page_conversion_us(cell));
    const double merge_us =
        plan.num_splits > 1 ? gpu.push_merge_us : (sharers > 1 ? gpu.push_merge_us / 2 : 0.0);
    return gpu.launch_us(thread_blocks) + 2 * gpu.l2_wait_us + gpu.dram_wait_us +
           day26::kPageWorkUs + page_conversion_us(cell) +
           std::max(gpu_bench::dram_us(gpu, cell), walk_us) + merge_us;
}

/// paged_attention on one cell. The bf16 cells are Day 26's.
[[nodiscard]] inline double predicted_us(const ReadCell& cell) {
    return cell.dtype == DType::fp8_e4m3 ? predicted_fp8_us(KnownGpu{}, cell)
                                         : day26::predicted_us(cell);
}

}  // namespace nanoserve::day27
