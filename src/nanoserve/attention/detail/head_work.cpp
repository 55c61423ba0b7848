// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <nanoserve/attention/detail/head_work.hpp>
#include <nanoserve/model/require.hpp>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

namespace nanoserve::detail {
namespace {

// The library of an exercise refuses a call that would leave a thread's own memory or its table;
// elsewhere the callers are the library's own, and a call may be as short as one row.
void check_call([[maybe_unused]] Share kv_heads, [[maybe_unused]] std::int64_t kv_head,
                [[maybe_unused]] const Rows& rows) {
#ifdef NANOSERVE_CHECK_CALLS
    require(kv_heads.begin <= kv_head && kv_head < kv_heads.end, "KV head ", kv_head,
            " is not this thread's: it has [", kv_heads.begin, ", ", kv_heads.end,
            "), see HeadWork::kv_heads");
    require(rows.num_rows >= 0, "a block of ", rows.num_rows,
            " tokens: this entry of the block table is not used");
#endif
}

}  // namespace

void HeadWork::reserve(const AttentionShape& shape, const KVScales& scales, const ScoreRules& rules,
                       Share kv_heads, std::int64_t num_tokens) {
    constexpr std::int64_t kLine = AlignedBuffer::kAlignment / sizeof(float);
    shape_ = shape;
    scales_ = scales;
    rules_ = rules;
    kv_heads_ = kv_heads;
    num_tokens_ = num_tokens;
    // One cache line more than needed: rows a power of two apart would fall into the same cache
    // sets.
    score_stride_ = (num_tokens + kLine - 1) / kLine * kLine + kLine;
    q_ = q_buffer_.reserve(num_rows() * shape.head_dim);
    sums_ = sums_buffer_.reserve(num_rows() * shape.head_dim);
    stretch_sums_ = stretch_sums_buffer_.reserve(num_rows() * shape.head_dim);
    scores_ = scores_buffer_.reserve(num_rows() * score_stride_);
    stretch_.resize(static_cast<std::size_t>(kv_heads.end - kv_heads.begin));
    softmax_.resize(static_cast<std::size_t>(num_rows()));
}

void HeadWork::load_query(const void* q, DType dtype) {
    const std::int64_t first = kv_heads_.begin * group_size() * shape_.head_dim;
    const std::int64_t count = num_rows() * shape_.head_dim;
    visit_io_dtype(dtype, [&]<class T>() {
        const T* source = static_cast<const T*>(q) + first;
        std::transform(source, source + count, q_, [](T x) { return to_float(x); });
    });
    std::fill_n(sums_, count, 0.0f);
    std::fill_n(stretch_sums_, count, 0.0f);
    std::ranges::fill(stretch_, 0);
}

std::int64_t HeadWork::hidden_rows(std::int64_t first, const Rows& rows) const {
    return std::clamp<std::int64_t>(rules_.first_token(num_tokens_) - first, 0, rows.num_rows);
}

void HeadWork::score(const RowOps& ops, std::int64_t kv_head, std::int64_t first, const Rows& k,
                     float sm_scale) {
    check_call(kv_heads_, kv_head, k);
    const std::int64_t hidden = hidden_rows(first, k);
    ops.score_rows(q_ + group_offset(kv_head), group_size(), k.part(hidden, k.num_rows - hidden),
                   sm_scale * scales_.k.of_head(kv_head), scores(kv_head, first + hidden));
}

void HeadWork::accumulate(const RowOps& ops, std::int64_t kv_head, std::int64_t first,
                          const Rows& v) {
    check_call(kv_heads_, kv_head, v);
    std::int64_t& stretch = stretch_[static_cast<std::size_t>(kv_head - kv_heads_.begin)];
    for (std::int64_t done = hidden_rows(first, v); done < v.num_rows;) {
        const std::int64_t token = first + done;
        if (stretch != token / kStretchTokens) {
            end_stretch(kv_head);
            stretch = token / kStretchTokens;
        }
        const std::int64_t count =
            std::min(v.num_rows - done, (stretch + 1) * kStretchTokens - token);
        ops.accumulate_rows(scores(kv_head, token), group_size(), v.part(done, count),
                            stretch_sums_ + group_offset(kv_head));
        done += count;
    }
}

void HeadWork::end_stretch(std::int64_t kv_head) {
    float* sums = sums_ + group_offset(kv_head);
    float* stretch_sums = stretch_sums_ + group_offset(kv_head);
    const std::int64_t count = group_size() * shape_.head_dim;
    std::transform(sums, sums + count, stretch_sums, sums, std::plus<>());
    std::fill_n(stretch_sums, count, 0.0f);
}

void HeadWork::hide(std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = 0; row < num_rows(); ++row) {
        std::fill(scores_ + row * score_stride_ + begin, scores_ + row * score_stride_ + end,
                  -std::numeric_limits<float>::infinity());
    }
}

// One more score in the softmax of a row of weights, which has no value.
void HeadWork::add_sink(std::int64_t row) {
    const float sink = rules_.sinks[kv_heads_.begin * group_size() + row];
    auto& [max, sum] = softmax_[static_cast<std::size_t>(row)];
    if (sink > max) {
        const float shrink = std::exp(max - sink);
        float* weights = scores_ + row * score_stride_;
        std::transform(weights, weights + num_tokens_, weights,
                       [shrink](float weight) { return weight * shrink; });
        sum *= shrink;
        max = sink;
    }
    if (sink > -std::numeric_limits<float>::infinity()) {
        sum += std::exp(sink - max);
    }
}

void HeadWork::apply_rules() {
    hide(0, rules_.first_token(num_tokens_));
    for (std::int64_t row = 0; rules_.change_scores() && row < num_rows(); ++row) {
        const std::int64_t q_head = kv_heads_.begin * group_size() + row;
        const float cap = rules_.logits_soft_cap;
        const float slope = rules_.alibi_slopes == nullptr ? 0.0f : rules_.alibi_slopes[q_head];
        float* scores = scores_ + row * score_stride_;
        for (std::int64_t t = rules_.first_token(num_tokens_); t < num_tokens_; ++t) {
            const float capped = cap > 0.0f ? cap * std::tanh(scores[t] / cap) : scores[t];
            scores[t] = capped + slope * static_cast<float>(t - (num_tokens_ - 1));
        }
    }
}

void HeadWork::exponentiate(const RowOps& ops) {
    apply_rules();
    for (std::int64_t row = 0; row < num_rows(); ++row) {
        softmax_[static_cast<std::size_t>(row)] =
            ops.exponentiate(scores_ + row * score_stride_, num_tokens_);
        if (rules_.sinks != nullptr) {
            add_sink(row);
        }
    }
}

void HeadWork::write_output(void* out, DType dtype, float* lse) {
    for (std::int64_t kv_head = kv_heads_.begin; kv_head < kv_heads_.end; ++kv_head) {
        end_stretch(kv_head);
    }
    const std::int64_t first_row = kv_heads_.begin * group_size();
    for (std::int64_t row = 0; row < num_rows(); ++row) {
        const auto [max, sum] = softmax_[static_cast<std::size_t>(row)];
        const float divisor =
            sum == 0.0f ? 1.0f : sum;  // no visible token: the sums are 0 and stay 0
        const float* sums = sums_ + row * shape_.head_dim;
        const float v_scale = scales_.v.of_head(kv_heads_.begin + row / group_size());
        visit_io_dtype(dtype, [&]<class T>() {
            std::transform(sums, sums + shape_.head_dim,
                           static_cast<T*>(out) + (first_row + row) * shape_.head_dim,
                           [=](float x) { return from_float<T>(x / divisor * v_scale); });
        });
        if (lse != nullptr) {
            // ln 0 is -inf, which is the lse of no tokens.
            lse[first_row + row] = static_cast<float>(double{max} + std::log(double{sum}));
        }
    }
}

}  // namespace nanoserve::detail
