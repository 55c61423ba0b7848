// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <nanoserve/attention/attention_oracle.hpp>
#include <nanoserve/attention/detail/element_at.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

namespace nanoserve {
namespace {

std::vector<double> scores_of(const PagedAttentionParams& p, std::int64_t seq, std::int64_t head) {
    const std::int64_t head_dim = p.kv.layout.head_dim;
    const double sm_scale =
        p.sm_scale ? double{*p.sm_scale} : 1.0 / std::sqrt(static_cast<double>(head_dim));
    std::vector<double> scores(static_cast<std::size_t>(p.seq_lens[seq]), 0.0);
    for (std::size_t t = 0; t < scores.size(); ++t) {
        for (std::int64_t d = 0; d < head_dim; ++d) {
            scores[t] += detail::q_element(p, seq, head, d) *
                         detail::k_element(p, seq, static_cast<std::int64_t>(t),
                                           head / p.shape().group_size(), d);
        }
        scores[t] *= sm_scale;
    }
    return scores;
}

double log_sum_exp(const std::vector<double>& scores) {
    if (scores.empty()) {
        return -std::numeric_limits<double>::infinity();
    }
    const double max = *std::max_element(scores.begin(), scores.end());
    double sum = 0.0;
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
            const double lse = log_sum_exp(weights);
            result.lse.push_back(lse);
            std::ranges::transform(weights, weights.begin(),
                                   [lse](double score) { return std::exp(score - lse); });
            for (std::int64_t d = 0; d < p.kv.layout.head_dim; ++d) {
                double sum = 0.0;
                for (std::size_t t = 0; t < weights.size(); ++t) {
                    sum += weights[t] * detail::v_element(p, seq, static_cast<std::int64_t>(t),
                                                          head / p.shape().group_size(), d);
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
