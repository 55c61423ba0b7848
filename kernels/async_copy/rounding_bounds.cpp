// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <kernels/async_copy/rounding_bounds.hpp>
#include <kernels/general/attention_facts.hpp>

#include <cmath>

namespace nanoserve {
namespace {

constexpr double kU = 0x1p-24;  // u in the header's formula

RoundingBounds bounds_of(const AttentionFacts& facts, const PagedAttentionParams& p) {
    const auto n = static_cast<double>(facts.scores.size());
    const double log_n = std::log(n);
    const double e = (17.0 * facts.products + n + 5.0 * n / 16.0 + log_n + 78.0) * kU;
    return {.out = bound_when_stored(facts.v * std::expm1(2.0 * e + 2.0 * kU), facts.v, p.io_dtype),
            .lse = std::expm1(e) + 4.0 * kU * (facts.max_score + log_n)};
}

}  // namespace

RoundingBounds async_copy_rounding_bounds(const PagedAttentionParams& params) {
    return largest_bounds(params,
                          [&](const AttentionFacts& facts) { return bounds_of(facts, params); });
}

}  // namespace nanoserve
