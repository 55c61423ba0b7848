// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <nanoserve/attention/attention_oracle.hpp>
#include <nanoserve/attention/detail/element_at.hpp>
#include <nanoserve/attention/detail/ruled_score.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace nanoserve {
namespace {

double sink_of(const ScoreRules& rules, std::int64_t head) {
    return rules.sinks == nullptr ? -std::numeric_limits<double>::infinity()
                                  : double{rules.sinks[head]};
}

// The scores of the visible tokens, in double precision throughout.
std::vector<double> scores_of(const PagedAttentionParams& p, std::int64_t seq, std::int64_t head) {
    const std::int64_t head_dim = p.kv.layout.head_dim;
    const double sm_scale =
        p.sm_scale ? double{*p.sm_scale} : 1.0 / std::sqrt(static_cast<double>(head_dim));
    std::vector<double> scores;
    for (std::int64_t t = p.rules.first_token(p.seq_lens[seq]); t < p.seq_lens[seq]; ++t) {
        double product = 0.0;
        for (std::int64_t d = 0; d < head_dim; ++d) {
            product += detail::q_element(p, seq, head, d) *
                       detail::k_element(p, seq, t, head / p.shape().group_size(), d);
        }
        scores.push_back(
            detail::ruled_score(p.rules, head, sm_scale * product, t - (p.seq_lens[seq] - 1)));
    }
    return scores;
}

// ln of the sum of exp over all scores and the head's sink.
double log_sum_exp(const std::vector<double>& scores, double sink) {
    const double max = std::accumulate(scores.begin(), scores.end(), sink,
                                       [](double a, double b) { return std::max(a, b); });
    if (max == -std::numeric_limits<double>::infinity()) {
        return max;
    }
    double sum = std::exp(sink - max);
    for (const double score : scores) {
        sum += std::exp(score - max);
    }
    return max + std::log(sum);
}

}  // namespace

OracleResult attention_oracle(PagedAttentionParams p) {
    float unused = 0;
    p.out = p.out == nullptr ? &unused : p.out;
    validate(p);
    OracleResult result;
    for (std::int64_t seq = 0; seq < p.num_seqs; ++seq) {
        for (std::int64_t head = 0; head < p.num_q_heads; ++head) {
            std::vector<double> weights = scores_of(p, seq, head);
            const double lse = log_sum_exp(weights, sink_of(p.rules, head));
            result.lse.push_back(lse);
            std::ranges::transform(weights, weights.begin(),
                                   [lse](double score) { return std::exp(score - lse); });
            for (std::int64_t d = 0; d < p.kv.layout.head_dim; ++d) {
                double sum = 0.0;
                for (std::size_t i = 0; i < weights.size(); ++i) {
                    const std::int64_t t =
                        p.rules.first_token(p.seq_lens[seq]) + static_cast<std::int64_t>(i);
                    sum +=
                        weights[i] * detail::v_element(p, seq, t, head / p.shape().group_size(), d);
                }
                result.out.push_back(sum);
            }
        }
    }
    return result;
}

double relative_error(const void* out, DType dtype, const OracleResult& oracle) {
    double largest = 0.0;
    double error = 0.0;
    for (std::size_t i = 0; i < oracle.out.size(); ++i) {
        const double difference =
            std::abs(detail::element_at(out, dtype, static_cast<std::int64_t>(i)) - oracle.out[i]);
        error = std::isnan(difference) ? std::numeric_limits<double>::infinity()
                                       : std::max(error, difference);
        largest = std::max(largest, std::abs(oracle.out[i]));
    }
    return largest > 0.0 ? error / largest : error;
}

double relative_norm_error(const void* out, DType dtype, const OracleResult& oracle) {
    double errors = 0.0;  // squares, added up
    double all = 0.0;
    for (std::size_t i = 0; i < oracle.out.size(); ++i) {
        const double difference =
            detail::element_at(out, dtype, static_cast<std::int64_t>(i)) - oracle.out[i];
        errors += difference * difference;
        all += oracle.out[i] * oracle.out[i];
    }
    if (std::isnan(errors)) {
        return std::numeric_limits<double>::infinity();
    }
    return std::sqrt(all > 0.0 ? errors / all : errors);
}

}  // namespace nanoserve
