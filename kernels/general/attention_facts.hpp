// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanoserve/attention/paged_attention_params.hpp>
#include <nanoserve/attention/rounding_bound.hpp>

#include <kernels/general/rounding_bounds.hpp>

#include <cstdint>
#include <functional>
#include <vector>

namespace nanoserve {

/// What the rounding bounds of the kernels depend on, of one query head of one sequence.
struct AttentionFacts {
    std::vector<double> scores;  ///< of the visible tokens, under the rules; then the sink, if any
    std::int64_t first_token = 0;  ///< that is visible
    double products = 0.0;         ///< the largest |sm_scale| * sum |q_i k_i|
    double largest_q_k = 0.0;      ///< the largest |sm_scale| * max |q_i| * sum |k_i|
    double v = 0.0;                ///< the largest |v|
    double max_score = 0.0;        ///< the largest |score|
    RuleErrors rules;              ///< what the rules add to the errors
};

/// In float64, from host pointers.
[[nodiscard]] AttentionFacts attention_facts(const PagedAttentionParams& params, std::int64_t seq,
                                             std::int64_t head);

/// The largest bounds of all query heads of a batch: those of bounds_of(attention_facts(...)); 0
/// for a batch without tokens. Throws std::invalid_argument as validate(params) does.
[[nodiscard]] RoundingBounds largest_bounds(
    const PagedAttentionParams& params,
    const std::function<RoundingBounds(const AttentionFacts&)>& bounds_of);

/// A bound of an fp32 output no larger than `largest`, once it is stored as `dtype`: half a step of
/// the output more, and for fp16 half its smallest step.
[[nodiscard]] double bound_when_stored(double bound, double largest, DType dtype);

}  // namespace nanoserve
