// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <nanoserve/attention/detail/element_at.hpp>
#include <nanoserve/attention/detail/ruled_score.hpp>

#include <kernels/general/attention_facts.hpp>

#include <algorithm>
#include <cmath>

namespace nanoserve {

AttentionFacts attention_facts(const PagedAttentionParams& p, std::int64_t seq, std::int64_t head) {
    const std::int64_t head_dim = p.kv.layout.head_dim;
    const std::int64_t kv_head = head / p.shape().group_size();
    const double sm_scale = effective_sm_scale(p.sm_scale, p.kv.layout.head_dim);
    AttentionFacts facts;
    facts.first_token = p.rules.first_token(p.seq_lens[seq]);
    for (std::int64_t t = facts.first_token; t < p.seq_lens[seq]; ++t) {
        double score = 0.0;
        double products = 0.0;
        double largest_q = 0.0;
        double sum_of_k = 0.0;
        for (std::int64_t d = 0; d < head_dim; ++d) {
            const double q = detail::q_element(p, seq, head, d);
            const double k = detail::k_element(p, seq, t, kv_head, d);
            score += q * k;
            products += std::abs(q * k);
            largest_q = std::max(largest_q, std::abs(q));
            sum_of_k += std::abs(k);
            facts.v = std::max(facts.v, std::abs(detail::v_element(p, seq, t, kv_head, d)));
        }
        facts.scores.push_back(
            detail::ruled_score(p.rules, head, sm_scale * score, t - (p.seq_lens[seq] - 1)));
        facts.max_score = std::max(facts.max_score, std::abs(facts.scores.back()));
        facts.products = std::max(facts.products, std::abs(sm_scale) * products);
        facts.largest_q_k = std::max(facts.largest_q_k, std::abs(sm_scale) * largest_q * sum_of_k);
    }
    facts.rules =
        rule_errors(p.rules, p.num_q_heads, static_cast<double>(p.seq_lens[seq]), facts.products);
    if (p.rules.sinks != nullptr && std::isfinite(p.rules.sinks[head])) {
        facts.scores.push_back(p.rules.sinks[head]);
        facts.max_score = std::max(facts.max_score, std::abs(facts.scores.back()));
    }
    return facts;
}

RoundingBounds largest_bounds(
    const PagedAttentionParams& params,
    const std::function<RoundingBounds(const AttentionFacts&)>& bounds_of) {
    validate(params);
    RoundingBounds largest;
    for (std::int64_t seq = 0; seq < params.num_seqs; ++seq) {
        for (std::int64_t head = 0; head < params.num_q_heads; ++head) {
            const AttentionFacts facts = attention_facts(params, seq, head);
            if (facts.scores.empty()) {
                continue;  // out = 0 and lse = -inf, exactly
            }
            const RoundingBounds bounds = bounds_of(facts);
            largest.out = std::max(largest.out, bounds.out);
            largest.lse = std::max(largest.lse, bounds.lse);
        }
    }
    return largest;
}

double bound_when_stored(double bound, double largest, DType dtype) {
    switch (dtype) {
        case DType::fp16:
            return bound + 0x1p-11 * (largest + bound) + 0x1p-25;
        case DType::bf16:
            return bound + 0x1p-8 * (largest + bound);
        case DType::fp32:
        case DType::fp8_e4m3:  // which no output is
            break;
    }
    return bound;
}

}  // namespace nanoserve
