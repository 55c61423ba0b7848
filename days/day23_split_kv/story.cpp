// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include "story.hpp"

#include "prediction.hpp"

#include <fmt/core.h>
#include <kernels/split_kv/merge_parts.hpp>
#include <kernels/split_kv/split_history.hpp>

#include <cmath>
#include <vector>

namespace nanoserve::day23 {
namespace {

constexpr std::int32_t kTokens = 100;
constexpr std::int32_t kNumSplits = 3;

// Token t of the story: its score in base 2, and one element of its V row.
float score_of(std::int32_t token) {
    return static_cast<float>(token % 64) / 8.0f;
}
float value_of(std::int32_t token) {
    return static_cast<float>(token) / 10.0f;
}

//! [part]
ElementSums sum_part(TokenRange tokens) {
    ElementSums part;
    for (std::int32_t t = tokens.begin; t < tokens.end; ++t) {
        part.max = std::fmax(part.max, score_of(t));
    }
    for (std::int32_t t = tokens.begin; t < tokens.end; ++t) {
        const float weight = base2_weight(score_of(t), part.max);
        part.sum += weight;
        part.out += weight * value_of(t);
    }
    return part;
}
//! [part]

void print_sums(const char* name, TokenRange tokens, const ElementSums& sums) {
    fmt::print("{:<9} {:>3} to {:>3} {:>8.3f} {:>9.4f} {:>9.4f} {:>9.4f}\n", name, tokens.begin,
               tokens.end, sums.max, sums.sum, sums.out, sums.out / sums.sum);
}

void print_merge() {
    fmt::print("{} tokens in {} splits, one element of the output of one query head:\n\n", kTokens,
               kNumSplits);
    fmt::print("{:<9} {:>10} {:>8} {:>9} {:>9} {:>9}\n", "", "tokens", "max", "sum", "out",
               "out / sum");
    std::vector<ElementSums> parts;
    for (std::int32_t i = 0; i < kNumSplits; ++i) {
        const TokenRange tokens = split_range(kTokens, kNumSplits, i);
        parts.push_back(sum_part(tokens));
        print_sums(fmt::format("split {}", i).c_str(), tokens, parts.back());
    }
    const TokenRange whole = {.begin = 0, .end = kTokens};
    print_sums("merged", whole,
               merge_parts(kNumSplits, [&](int i) { return parts[static_cast<std::size_t>(i)]; }));
    print_sums("unsplit", whole, sum_part(whole));
}

void print_rule() {
    fmt::print("\nThe rule on {} SMs, 8 KV heads:\n\n{:>9} {:>7} {:>7} {:>14} {:>13}\n",
               KnownGpu{}.num_sms, "sequences", "tokens", "splits", "thread blocks", "tokens each");
    for (const ReadCell& cell : cells()) {
        if (cell.shape.head_dim == 64) {
            const std::int32_t num_splits = splits_of(cell);
            fmt::print("{:>9} {:>7} {:>7} {:>14} {:>13}\n", cell.num_seqs, cell.seq_len, num_splits,
                       cell.num_seqs * cell.shape.num_kv_heads * num_splits,
                       blocks_needed(cell.seq_len, num_splits));
        }
    }
}

}  // namespace

void tell_splits() {
    print_merge();
    print_rule();
}

}  // namespace nanoserve::day23
