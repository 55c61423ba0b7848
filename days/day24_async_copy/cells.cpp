// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include "cells.hpp"

#include <algorithm>

namespace nanoserve::day24 {

std::vector<gpu_bench::ReadCell> cells() {
    std::vector<gpu_bench::ReadCell> all;
    for (const std::int32_t head_dim : {64, 128}) {
        for (const std::int64_t num_seqs : {1, 8, 64}) {
            for (const std::int64_t seq_len : {256, 1024, 4096, 16384, 65536}) {
                all.push_back(
                    {.shape = {32, 8, head_dim}, .num_seqs = num_seqs, .seq_len = seq_len});
            }
        }
    }
    return all;
}

AsyncCopyPlan with_stages(AsyncCopyPlan plan, int num_stages, std::int32_t head_dim) {
    plan.num_stages = num_stages;
    plan.num_warps = std::min(plan.num_warps, head_dim <= 64 ? 8 : 4);
    plan.heads_per_block = std::min(plan.heads_per_block, plan.num_warps);
    return plan;
}

}  // namespace nanoserve::day24
