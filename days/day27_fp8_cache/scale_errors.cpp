// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include "scale_errors.hpp"

#include <nanoserve/attention/attention_oracle.hpp>
#include <nanoserve/attention/paged_attention_reference.hpp>
#include <nanoserve/cache/paged_kv_cache.hpp>
#include <nanoserve/model/require.hpp>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

namespace nanoserve::day27 {
namespace {

constexpr AttentionShape kShape = {.num_q_heads = 8, .num_kv_heads = kNumKvHeads, .head_dim = 64};
constexpr std::int64_t kNumTokens = 200;

using HeadFactors = std::array<float, kNumKvHeads>;

// [num_rows, num_heads, head_dim] in [-1, 1), times the factor of the head's KV head.
std::vector<float> random_rows(std::int64_t num_rows, std::int32_t num_heads,
                               const HeadFactors& factors, std::uint32_t seed) {
    std::mt19937 random(seed);
    std::vector<float> rows;
    for (std::int64_t row = 0; row < num_rows; ++row) {
        for (std::int32_t head = 0; head < num_heads; ++head) {
            const float factor = factors[static_cast<std::size_t>(head * kNumKvHeads / num_heads)];
            for (std::int32_t d = 0; d < kShape.head_dim; ++d) {
                rows.push_back((static_cast<float>(random()) * 0x1p-31f - 1.0f) * factor);
            }
        }
    }
    return rows;
}

struct Values {
    std::vector<float> k, v, q;
};

Values values_of(const HeadFactors& size) {
    HeadFactors inverse;
    std::ranges::transform(size, inverse.begin(), [](float x) { return 1.0f / x; });
    return {.k = random_rows(kNumTokens, kNumKvHeads, size, 1),
            .v = random_rows(kNumTokens, kNumKvHeads, size, 2),
            .q = random_rows(1, kShape.num_q_heads, inverse, 3)};
}

// The scale that stores the largest value of each KV head as 448; where `whole`, of all of them.
HeadFactors scales_for(const std::vector<float>& rows, bool whole) {
    HeadFactors largest = {};
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const std::size_t head = i / static_cast<std::size_t>(kShape.head_dim) % kNumKvHeads;
        largest[head] = std::max(largest[head], std::abs(rows[i]));
    }
    if (whole) {
        largest.fill(*std::ranges::max_element(largest));
    }
    std::ranges::transform(largest, largest.begin(), e4m3_scale);
    return largest;
}

// One history in a cache, and a read of it.
class History {
  public:
    History(const Values& values, DType dtype, ScaleChoice scales)
        : cache_(1, nhd_layout({.dtype = dtype,
                                .num_blocks = static_cast<std::int32_t>(kNumTokens),
                                .num_kv_heads = kNumKvHeads,
                                .head_dim = kShape.head_dim})) {
        if (scales != ScaleChoice::none) {
            const auto k = scales_for(values.k, scales == ScaleChoice::tensor);
            const auto v = scales_for(values.v, scales == ScaleChoice::tensor);
            cache_.set_scales(0, {.k = {.heads = k.data()}, .v = {.heads = v.data()}});
        }
        const SeqId seq = cache_.add_sequence();
        const auto written = cache_.prefill(seq, 0, {values.k.data(), values.v.data(), kNumTokens});
        require(written.ok(), to_string(written));
        tables_ = cache_.batch({&seq, 1});
        params_.q = values.q.data();
        params_.num_q_heads = kShape.num_q_heads;
        params_.kv = cache_.view();
        set_block_tables(params_, tables_);
    }

    [[nodiscard]] const PagedAttentionParams& params() const { return params_; }

  private:
    PagedKVCache cache_;
    BlockTables tables_;
    PagedAttentionParams params_;
};

std::vector<float> attention_over(const History& history) {
    std::vector<float> out(static_cast<std::size_t>(kShape.num_q_heads * kShape.head_dim));
    PagedAttentionParams params = history.params();
    params.out = out.data();
    paged_attention_reference(params);
    return out;
}

}  // namespace

std::array<double, kNumKvHeads> errors_of(const ScaleTrial& trial) {
    const Values values = values_of(trial.size);
    const History whole(values, DType::fp32, ScaleChoice::none);
    const auto exact = attention_oracle(whole.params()).out;
    const auto out = attention_over(History(values, trial.dtype, trial.scales));
    std::array<double, kNumKvHeads> errors = {};
    const std::size_t group_elements = exact.size() / kNumKvHeads;
    for (std::size_t head = 0; head < kNumKvHeads; ++head) {
        double largest = 0.0;
        for (std::size_t i = head * group_elements; i < (head + 1) * group_elements; ++i) {
            errors[head] = std::max(errors[head], std::abs(double{out[i]} - exact[i]));
            largest = std::max(largest, std::abs(exact[i]));
        }
        errors[head] /= largest;
    }
    return errors;
}

}  // namespace nanoserve::day27
