// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <kernels/decode/rounding_bounds.hpp>
#include <kernels/general/attention_facts.hpp>

#include <algorithm>
#include <cmath>

namespace nanoserve {
namespace {

constexpr double kU = 0x1p-23;  // u in the header's formula

RoundingBounds bounds_of(const AttentionFacts& facts, const PagedAttentionParams& p) {
    const auto n = static_cast<double>(facts.scores.size());
    const bool is_fp8 = p.kv.layout.dtype == DType::fp8_e4m3;
    const bool has_fp16_weights = is_fp8 || p.kv.layout.dtype == DType::fp16;
    const double scales = is_fp8 ? 1.0 : 0.0;  // of K and of V, one product more
    const double query_error =
        is_fp8 && p.io_dtype == DType::bf16 ? 0x1p-40 * facts.largest_q_k : 0.0;
    const double score_error =
        (p.kv.layout.head_dim + 6.0 + scales) * kU * facts.products + query_error;
    const double weight_error = has_fp16_weights ? 0x1p-11 + n * 0x1p-25 : 0x1p-8;
    const double e = score_error + weight_error +
                     (1.25 * n + std::log(n) + 70.0 + scales + facts.rules.sum) * kU;
    return {.out = bound_when_stored(facts.v * std::expm1(2.0 * e), facts.v, p.io_dtype),
            .lse = std::expm1(e) + 4.0 * kU * (facts.max_score + std::log(n))};
}

}  // namespace

RoundingBounds paged_decode_rounding_bounds(const PagedAttentionParams& params) {
    return largest_bounds(params,
                          [&](const AttentionFacts& facts) { return bounds_of(facts, params); });
}

}  // namespace nanoserve
