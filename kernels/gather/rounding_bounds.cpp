// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <kernels/gather/rounding_bounds.hpp>
#include <kernels/general/attention_facts.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

namespace nanoserve {
namespace {

constexpr double kU = 0x1p-24;  // u in the header's formula
constexpr std::int64_t kNumWarps = 4;
constexpr std::int64_t kGroupTokens = 4;

// 4 G + 5 R of one warp; scores are known to score_error only.
double roundings_of_sums(const std::vector<double>& scores, std::int64_t warp, double score_error) {
    double count = 0.0;
    double max = std::numeric_limits<double>::quiet_NaN();  // which the first group doesn't raise
    for (std::int64_t begin = warp * kGroupTokens; begin < std::ssize(scores);
         begin += kNumWarps * kGroupTokens) {
        const std::int64_t end = std::min(begin + kGroupTokens, std::ssize(scores));
        const double largest = *std::max_element(scores.begin() + begin, scores.begin() + end);
        count += largest > max - 2.0 * score_error ? 9.0 : 4.0;
        max = std::fmax(max, largest);
    }
    return count;
}

RoundingBounds bounds_of(const AttentionFacts& facts, const PagedAttentionParams& p) {
    const std::int64_t lane_products = (p.kv.layout.head_dim + 31) / 32;
    const double score_error = static_cast<double>(lane_products + 10) * kU * facts.products;
    double sums = 0.0;
    for (std::int64_t warp = 0; warp < kNumWarps; ++warp) {
        sums = std::max(sums, roundings_of_sums(facts.scores, warp, score_error));
    }
    const double log_n = std::log(static_cast<double>(facts.scores.size()));
    const double e = score_error + (16.0 + sums + log_n) * kU;
    const double out = facts.v * std::expm1(2.0 * e + 4.0 * kU);
    return {.out = bound_when_stored(out, facts.v, p.io_dtype),
            .lse = std::expm1(e) + 4.0 * kU * log_n + kU * (facts.max_score + log_n)};
}

}  // namespace

RoundingBounds gather_rounding_bounds(const PagedAttentionParams& params) {
    return largest_bounds(params,
                          [&](const AttentionFacts& facts) { return bounds_of(facts, params); });
}

}  // namespace nanoserve
