// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <kernels/general/attention_facts.hpp>
#include <kernels/general/config.hpp>
#include <kernels/general/rounding_bounds.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace nanoserve {
namespace {

using Config = PagedAttentionConfig<64, true>;  // steps and lanes are the same in all
static_assert(Config::kStepTokens / Config::kNumWarps == 8 && Config::kNumWarps == 4 &&
                  Config::kNumLanes == 32,
              "the header's formula counts them");
constexpr double kU = 0x1p-24;  // u in the header's formula

// The steps of a sequence, and those after the first that may find a larger maximum: scores are
// known to score_error only.
struct StepCounts {
    double steps = 0.0;
    double raises = 0.0;
};

StepCounts count_steps(const AttentionFacts& facts, std::int64_t block_size, double score_error) {
    const std::vector<double>& scores = facts.scores;
    StepCounts counts;
    double max = -std::numeric_limits<double>::infinity();
    const auto num_tokens = std::ssize(scores);
    for (std::int64_t begin = 0; begin < num_tokens;) {
        const std::int64_t token = facts.first_token + begin;
        const std::int64_t block_end = (token / block_size + 1) * block_size - facts.first_token;
        const std::int64_t end =
            std::min({begin + Config::kStepTokens, block_end, std::int64_t{num_tokens}});
        const double largest = *std::max_element(scores.begin() + begin, scores.begin() + end);
        counts.raises += counts.steps > 0.0 && largest > max - 2.0 * score_error ? 1.0 : 0.0;
        counts.steps += 1.0;
        max = std::max(max, largest);
        begin = end;
    }
    return counts;
}

RoundingBounds bounds_of(const AttentionFacts& facts, const PagedAttentionParams& p) {
    const std::int64_t lane_products =
        (p.kv.layout.head_dim + Config::kNumLanes - 1) / Config::kNumLanes;
    const double scaling = p.kv.layout.dtype == DType::fp8_e4m3 ? 1.0 : 0.0;  // by 1 it is exact
    const double score_error =
        (static_cast<double>(lane_products + 36) + scaling) * kU * facts.products +
        kU * facts.rules.score;
    const StepCounts counts = count_steps(facts, p.kv.layout.block_size, score_error);
    const double log_n = std::log(static_cast<double>(facts.scores.size()));
    const double e =
        score_error + (16.0 + counts.steps + 5.0 * counts.raises + log_n + facts.rules.sum) * kU;
    const double out = facts.v * std::expm1(2.0 * e + (2.0 + scaling) * kU);
    return {.out = bound_when_stored(out, facts.v, p.io_dtype),
            .lse = std::expm1(e) + 4.0 * kU * log_n + kU * (facts.max_score + log_n)};
}

}  // namespace

RoundingBounds paged_attention_rounding_bounds(const PagedAttentionParams& params) {
    return largest_bounds(params,
                          [&](const AttentionFacts& facts) { return bounds_of(facts, params); });
}

}  // namespace nanoserve
