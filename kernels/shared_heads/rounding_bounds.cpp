// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <kernels/general/attention_facts.hpp>
#include <kernels/shared_heads/config.hpp>
#include <kernels/shared_heads/lane_map.hpp>
#include <kernels/shared_heads/rounding_bounds.hpp>

#include <cmath>

namespace nanoserve {
namespace {

constexpr double kU = 0x1p-24;  // u in the header's formula

// Tokens that the warps of a thread block take with one tile each.
double tokens_per_round(const SharedHeadsArgs& args) {
    double tokens = 0.0;
    visit_shared_heads_config(args, [&]<class Config>() {
        tokens = Config::kNumWarps * Config::kSteps * LaneMap{args.chunks_log2}.num_readers();
    });
    return tokens;
}

RoundingBounds bounds_of(const AttentionFacts& facts, DType io_dtype, double round_tokens,
                         std::int32_t num_splits) {
    const auto n = static_cast<double>(facts.scores.size());
    const double log_n = std::log(n);
    const double tiles = std::ceil(n / round_tokens);
    const double score_error = 19.0 * kU * facts.products;
    const double e =
        score_error + (4.0 + 9.0 * tiles + 10.0 + 13.0 + 5.0 + 2.0 * num_splits + log_n) * kU;
    return {.out = bound_when_stored(facts.v * std::expm1(2.0 * e + 2.0 * kU), facts.v, io_dtype),
            .lse = std::expm1(e) + (4.0 * log_n + 3.0 * (facts.max_score + log_n)) * kU};
}

}  // namespace

RoundingBounds shared_heads_rounding_bounds(const PagedAttentionParams& params,
                                            std::int32_t num_splits) {
    const double round_tokens = tokens_per_round(make_shared_heads_args(params, nullptr));
    return largest_bounds(params, [&](const AttentionFacts& facts) {
        return bounds_of(facts, params.io_dtype, round_tokens, num_splits);
    });
}

}  // namespace nanoserve
