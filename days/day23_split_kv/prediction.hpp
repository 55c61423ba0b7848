// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// What Day 23 foretells before anything is measured: Day 22's walk over a part of each history, and
// a second launch. (A throw-away timing of an earlier form of the kernel had been seen; nothing
// here was fitted to it.)
#pragma once

#include <day22_shared_heads/prediction.hpp>
#include <gpu_bench/prediction.hpp>
#include <gpu_bench/read_cell.hpp>
#include <kernels/split_kv/split_history.hpp>

#include <cstdint>
#include <vector>

namespace nanoserve::day23 {

using gpu_bench::KnownGpu;
using gpu_bench::ReadCell;

/// The cells of the day: from one sequence, which is split most, to a batch that is not split.
[[nodiscard]] inline std::vector<ReadCell> cells() {
    std::vector<ReadCell> cells;
    for (const std::int32_t head_dim : {64, 128}) {
        for (const std::int64_t num_seqs : {1, 8, 64}) {
            for (const std::int64_t seq_len : {256, 1024, 4096, 16384}) {
                cells.push_back(
                    {.shape = {32, 8, head_dim}, .num_seqs = num_seqs, .seq_len = seq_len});
            }
        }
        cells.push_back({.shape = {32, 8, head_dim}, .num_seqs = 1, .seq_len = 65536});
    }
    return cells;
}

/// What the rule gives a cell on an H200.
[[nodiscard]] inline std::int32_t splits_of(const ReadCell& cell) {
    return choose_num_splits(SplitLoad{.thread_blocks = cell.num_seqs * cell.shape.num_kv_heads,
                                       .max_tokens = cell.seq_len},
                             KnownGpu{}.num_sms);
}

/// split_kv_attention, cut up by the rule.
[[nodiscard]] inline double predicted_us(const ReadCell& cell) {
    const std::int32_t num_splits = splits_of(cell);
    return day22::predicted_group_us(cell, num_splits) +
           (num_splits > 1 ? KnownGpu{}.second_launch_us : 0.0);
}

}  // namespace nanoserve::day23
