// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// The plans that Day 26 times beside the rule's own: what the edges of the rule are worth.
#pragma once

#include "prediction.hpp"

#include <fmt/core.h>
#include <gpu_bench/decode_day.hpp>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

namespace nanoserve::day26 {

/// All that divide a thread block's warps evenly among its KV heads.
[[nodiscard]] inline std::vector<DecodePlan> swept_plans() {
    std::vector<DecodePlan> plans;
    for (const int num_warps : {1, 2, 4, 8}) {
        for (int heads = 1; heads <= num_warps; heads *= 2) {
            for (const int num_splits : {1, 2, 4, 8}) {
                plans.push_back(
                    {.num_warps = num_warps, .heads_per_block = heads, .num_splits = num_splits});
            }
        }
    }
    return plans;
}

/// As in the column `read`.
[[nodiscard]] inline std::string name_of(const DecodePlan& plan) {
    return fmt::format("w{}_h{}_s{}", plan.num_warps, plan.heads_per_block, plan.num_splits);
}

/// Why a plan is not worth a measurement: some warps would have nothing to read, most SMs nothing
/// to do where each KV head could have a thread block, or there are too many thread blocks.
[[nodiscard]] inline std::optional<std::string> reason_to_skip(const PagedAttentionParams& params,
                                                               const DecodePlan& plan) {
    constexpr std::int64_t kFewThreadBlocks = 64, kManyThreadBlocks = 8192;
    const std::int64_t num_kv_heads = params.kv.layout.num_kv_heads;
    const std::int64_t tiles = blocks_needed(params.max_tokens(), 16);
    const std::int64_t rows = params.num_seqs * num_kv_heads;
    const std::int64_t thread_blocks = rows / plan.heads_per_block * plan.num_splits;
    if (num_kv_heads % plan.heads_per_block != 0) {
        return "the KV heads don't divide";
    }
    if (plan.num_warps / plan.heads_per_block * plan.num_splits > tiles) {
        return "there are more warps than tiles";
    }
    if (thread_blocks < std::min(kFewThreadBlocks, rows)) {
        return "most SMs have nothing to read";
    }
    if (thread_blocks > std::max(kManyThreadBlocks, rows)) {
        return "there are too many thread blocks";
    }
    return {};
}

/// The rule's plan, and all others, as the reads of a set of cells.
[[nodiscard]] inline std::vector<gpu_bench::DecodeRead> plan_reads() {
    std::vector<gpu_bench::DecodeRead> reads = {{"paged_attention", predicted_us}};
    for (const DecodePlan& plan : swept_plans()) {
        reads.push_back({name_of(plan), [plan](const ReadCell& cell) {
                             return predicted_decode_us(KnownGpu{}, cell, plan);
                         }});
    }
    return reads;
}

}  // namespace nanoserve::day26
