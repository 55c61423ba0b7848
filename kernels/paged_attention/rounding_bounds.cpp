// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <nanoserve/attention/detail/element_at.hpp>

#include <kernels/paged_attention/config.hpp>
#include <kernels/paged_attention/rounding_bounds.hpp>

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

// The numbers that the formula takes, of one query head.
struct HeadFacts {
    std::vector<double> scores;  // [seq_len]
    double products = 0.0;       // the largest sm_scale * sum |q_i k_i|
    double v = 0.0;              // the largest |v|
};

HeadFacts facts_of(const PagedAttentionParams& p, std::int64_t seq, std::int64_t head) {
    const std::int64_t head_dim = p.kv.layout.head_dim;
    const std::int64_t kv_head = head / p.shape().group_size();
    const double sm_scale = effective_sm_scale(p.sm_scale, p.kv.layout.head_dim);
    HeadFacts facts;
    for (std::int64_t t = 0; t < p.seq_lens[seq]; ++t) {
        double score = 0.0;
        double products = 0.0;
        for (std::int64_t d = 0; d < head_dim; ++d) {
            const double product = detail::q_element(p, seq, head, d) *
                                   detail::pool_element(p.kv.k_cache, p, seq, t, kv_head, d);
            score += product;
            products += std::abs(product);
            facts.v = std::max(facts.v,
                               std::abs(detail::pool_element(p.kv.v_cache, p, seq, t, kv_head, d)));
        }
        facts.scores.push_back(sm_scale * score);
        facts.products = std::max(facts.products, std::abs(sm_scale) * products);
    }
    return facts;
}

// The steps of a sequence, and those after the first that may find a larger maximum: scores are
// known to score_error only.
struct StepCounts {
    double steps = 0.0;
    double raises = 0.0;
};

StepCounts count_steps(const std::vector<double>& scores, std::int64_t block_size,
                       double score_error) {
    StepCounts counts;
    double max = -std::numeric_limits<double>::infinity();
    const auto num_tokens = std::ssize(scores);
    for (std::int64_t begin = 0; begin < num_tokens;) {
        const std::int64_t block_end = (begin / block_size + 1) * block_size;
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

// What storing an output of a 16-bit type adds.
double stored(double bound, double largest, DType dtype) {
    switch (dtype) {
        case DType::fp16:
            return bound + 0x1p-11 * (largest + bound) + 0x1p-25;
        case DType::bf16:
            return bound + 0x1p-8 * (largest + bound);
        case DType::fp32:
            break;
    }
    return bound;
}

RoundingBounds bounds_of(const HeadFacts& facts, const PagedAttentionParams& p) {
    const std::int64_t lane_products =
        (p.kv.layout.head_dim + Config::kNumLanes - 1) / Config::kNumLanes;
    const double score_error = static_cast<double>(lane_products + 36) * kU * facts.products;
    const StepCounts counts = count_steps(facts.scores, p.kv.layout.block_size, score_error);
    const double log_n = std::log(static_cast<double>(facts.scores.size()));
    double max_score = 0.0;
    for (const double score : facts.scores) {
        max_score = std::max(max_score, std::abs(score));
    }
    const double e = score_error + (16.0 + counts.steps + 5.0 * counts.raises + log_n) * kU;
    const double out = facts.v * std::expm1(2.0 * e + 2.0 * kU);
    return {.out = stored(out, facts.v, p.io_dtype),
            .lse = std::expm1(e) + 4.0 * kU * log_n + kU * (max_score + log_n)};
}

}  // namespace

RoundingBounds paged_attention_rounding_bounds(const PagedAttentionParams& p) {
    validate(p);
    RoundingBounds largest;
    for (std::int64_t seq = 0; seq < p.num_seqs; ++seq) {
        for (std::int64_t head = 0; p.seq_lens[seq] > 0 && head < p.num_q_heads; ++head) {
            const RoundingBounds bounds = bounds_of(facts_of(p, seq, head), p);
            largest.out = std::max(largest.out, bounds.out);
            largest.lse = std::max(largest.lse, bounds.lse);
        }
    }
    return largest;
}

}  // namespace nanoserve
