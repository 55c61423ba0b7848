// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <kernels/decode/rounding_bounds.hpp>
#include <kernels/paged_attention/attention_facts.hpp>

#include <algorithm>
#include <cmath>

namespace nanoserve {
namespace {

constexpr double kU = 0x1p-23;  // u in the header's formula

RoundingBounds bounds_of(const AttentionFacts& facts, const PagedAttentionParams& p) {
    const auto n = static_cast<double>(facts.scores.size());
    const bool is_fp16 = p.kv.layout.dtype == DType::fp16;
    const double score_error = (p.kv.layout.head_dim + 6.0) * kU * facts.products;
    const double weight_error = is_fp16 ? 0x1p-11 + n * 0x1p-25 : 0x1p-8;
    const double e = score_error + weight_error + (1.25 * n + std::log(n) + 70.0) * kU;
    double max_score = 0.0;
    for (const double score : facts.scores) {
        max_score = std::max(max_score, std::abs(score));
    }
    return {.out = bound_when_stored(facts.v * std::expm1(2.0 * e), facts.v, p.io_dtype),
            .lse = std::expm1(e) + 4.0 * kU * (max_score + std::log(n))};
}

}  // namespace

RoundingBounds paged_decode_rounding_bounds(const PagedAttentionParams& params) {
    validate(params);
    RoundingBounds largest;
    for (std::int64_t seq = 0; seq < params.num_seqs; ++seq) {
        for (std::int64_t head = 0; params.seq_lens[seq] > 0 && head < params.num_q_heads; ++head) {
            const RoundingBounds bounds = bounds_of(attention_facts(params, seq, head), params);
            largest.out = std::max(largest.out, bounds.out);
            largest.lse = std::max(largest.lse, bounds.lse);
        }
    }
    return largest;
}

}  // namespace nanoserve
