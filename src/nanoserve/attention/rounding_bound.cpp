// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <nanoserve/attention/detail/element_at.hpp>
#include <nanoserve/attention/rounding_bound.hpp>

#include <algorithm>
#include <cmath>

namespace nanoserve {
namespace {

// The largest sum |q_i k_i| of any head and token of the sequence, and the largest |v|.
struct Magnitudes {
    double products = 0.0;
    double v = 0.0;
};

void add_sequence(Magnitudes& largest, const PagedAttentionParams& p, std::int64_t seq) {
    const std::int64_t group_size = p.shape().group_size();
    for (std::int64_t t = p.rules.first_token(p.seq_lens[seq]); t < p.seq_lens[seq]; ++t) {
        for (std::int64_t head = 0; head < p.num_q_heads; ++head) {
            double products = 0.0;
            for (std::int64_t d = 0; d < p.kv.layout.head_dim; ++d) {
                products += std::abs(detail::q_element(p, seq, head, d) *
                                     detail::k_element(p, seq, t, head / group_size, d));
                largest.v = std::max(largest.v,
                                     std::abs(detail::v_element(p, seq, t, head / group_size, d)));
            }
            largest.products = std::max(largest.products, products);
        }
    }
}

// What storing an output of a 16-bit type can add to its error.
struct HalfStep {
    double relative = 0.0;
    double absolute = 0.0;  // below the smallest normal number
};

HalfStep half_step_of(DType dtype) {
    switch (dtype) {
        case DType::fp16:
            return {0x1p-11, 0x1p-25};
        case DType::bf16:
            return {0x1p-8, 0.0};
        case DType::fp32:
        case DType::fp8_e4m3:  // which no output is
            break;
    }
    return {};
}

constexpr double kU = 0x1p-24;  // u in the header's formulas

double largest_magnitude(const float* values, std::int32_t count) {
    double largest = 0.0;
    for (std::int32_t i = 0; values != nullptr && i < count; ++i) {
        if (std::isfinite(values[i])) {
            largest = std::max(largest, std::abs(double{values[i]}));
        }
    }
    return largest;
}

struct Bounds {
    double out = 0.0;
    double lse = 0.0;
};

// The bounds of a read whose sums add chains(seq_len) * u.
template <class Chains>
Bounds bounds(PagedAttentionParams p, Chains chains) {
    float unused = 0;
    p.out = p.out == nullptr ? &unused : p.out;
    validate(p);
    Magnitudes largest;
    double longest_chain = 0.0;
    double longest = 1.0;  // tokens; an empty history has no finite lse
    for (std::int64_t seq = 0; seq < p.num_seqs; ++seq) {
        add_sequence(largest, p, seq);
        longest = std::max(longest, static_cast<double>(p.seq_lens[seq]));
        longest_chain = std::max(longest_chain, chains(p.seq_lens[seq]));
    }
    const std::int32_t head_dim = p.kv.layout.head_dim;
    const double sm_scale = std::abs(double{effective_sm_scale(p.sm_scale, head_dim)});
    const double scaling = p.kv.layout.dtype == DType::fp8_e4m3 ? 1.0 : 0.0;  // by 1 it is exact
    const double largest_score = sm_scale * largest.products;
    const RuleErrors rules = rule_errors(p.rules, p.num_q_heads, longest, largest_score);
    const double score_error =
        (head_dim / 16.0 + 6.0 + scaling) * kU * largest_score + kU * rules.score;
    const double relative =
        2.0 * (score_error + 6.0 * kU) + (longest_chain + scaling + rules.sum) * kU;
    const HalfStep half_step = half_step_of(p.io_dtype);
    return {
        .out = largest.v * (relative + half_step.relative * (1.0 + relative)) + half_step.absolute,
        .lse = relative + 2.0 * kU * (largest_score + rules.lse + std::log(longest))};
}

double two_pass_chains(double len) {
    return std::min(len, 64.0) + len / 64.0 + std::min(len / 16.0, 64.0) + len / 1024.0 + 6.0;
}

double streaming_chains(std::int64_t len, std::int64_t block_size, std::int64_t num_splits) {
    const std::int64_t num_chunks = blocks_needed(len, block_size) * blocks_needed(block_size, 16);
    return 36.0 + 14.0 * static_cast<double>(num_chunks) + static_cast<double>(num_splits);
}

Bounds two_pass_bounds(const PagedAttentionParams& p) {
    return bounds(p, [](std::int64_t len) { return two_pass_chains(static_cast<double>(len)); });
}

Bounds streaming_bounds(const PagedAttentionParams& p, std::int64_t num_splits) {
    return bounds(p, [&](std::int64_t len) {
        return streaming_chains(len, p.kv.layout.block_size, num_splits);
    });
}

}  // namespace

RuleErrors rule_errors(const ScoreRules& rules, std::int32_t num_q_heads, double longest,
                       double largest_score) {
    const double bias = longest * largest_magnitude(rules.alibi_slopes, num_q_heads);
    RuleErrors errors = {.lse = bias + largest_magnitude(rules.sinks, num_q_heads)};
    errors.score += rules.logits_soft_cap > 0.0f ? 8.0 * largest_score : 0.0;
    errors.score += rules.alibi_slopes != nullptr ? 3.0 * bias + largest_score : 0.0;
    errors.sum = rules.sinks != nullptr ? 12.0 : 0.0;
    return errors;
}

double rounding_bound(PagedAttentionParams p) {
    return two_pass_bounds(p).out;
}

double lse_rounding_bound(PagedAttentionParams p) {
    return two_pass_bounds(p).lse;
}

double streaming_rounding_bound(PagedAttentionParams p, std::int64_t num_splits) {
    return streaming_bounds(p, num_splits).out;
}

double streaming_lse_rounding_bound(PagedAttentionParams p, std::int64_t num_splits) {
    return streaming_bounds(p, num_splits).lse;
}

}  // namespace nanoserve
