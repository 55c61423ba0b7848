// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanoserve/attention/detail/row_ops.hpp>
#include <nanoserve/attention/detail/thread_team.hpp>
#include <nanoserve/cache/aligned_buffer.hpp>
#include <nanoserve/model/attention_shape.hpp>

#include <vector>

namespace nanoserve::detail {

/// fp32 memory that grows and is kept.
class FloatBuffer {
  public:
    /// At least `count` floats; the contents are kept only when it did not have to grow.
    float* reserve(std::int64_t count);

  private:
    AlignedBuffer memory_;
    std::int64_t capacity_ = 0;
};

/// One query on its way through attention, for the KV heads that one thread has taken: the query
/// heads of their groups in fp32, their rows of scores, their sums.
class HeadWork {
  public:
    /// Makes room for kv heads [kv_heads.begin, kv_heads.end) of `shape` and `num_tokens` scores
    /// for each query head.
    void reserve(const AttentionShape& shape, Share kv_heads, std::int64_t num_tokens);

    /// Converts the query, [num_q_heads, head_dim] of `dtype`, and clears the sums.
    void load_query(const void* q, DType dtype);

    [[nodiscard]] Share kv_heads() const { return kv_heads_; }
    [[nodiscard]] std::int64_t group_size() const { return shape_.group_size(); }

    /// The group's query heads, [group_size, head_dim].
    [[nodiscard]] const float* q(std::int64_t kv_head) const { return q_ + group_offset(kv_head); }

    /// The group's rows of scores (later of weights), from token `first` on.
    [[nodiscard]] HeadMajor scores(std::int64_t kv_head, std::int64_t first) const {
        return {scores_ + (kv_head - kv_heads_.begin) * group_size() * score_stride_ + first,
                score_stride_};
    }

    /// The group's sums of weight * v, [group_size, head_dim].
    [[nodiscard]] float* sums(std::int64_t kv_head) { return sums_ + group_offset(kv_head); }

    /// Sets the scores of tokens [begin, end) to -inf, for all heads.
    void hide(std::int64_t begin, std::int64_t end);

    /// Turns all scores into softmax weights that are not yet divided by their sum.
    void exponentiate(const RowOps& ops);

    /// Divides by the sums of the weights and writes out, [num_q_heads, head_dim] of `dtype`, and
    /// lse, [num_q_heads] (may be nullptr); only the rows of these heads.
    void write_output(void* out, DType dtype, float* lse);

  private:
    [[nodiscard]] std::int64_t num_rows() const {
        return (kv_heads_.end - kv_heads_.begin) * group_size();
    }
    [[nodiscard]] std::int64_t group_offset(std::int64_t kv_head) const {
        return (kv_head - kv_heads_.begin) * group_size() * shape_.head_dim;
    }

    AttentionShape shape_;
    Share kv_heads_;
    std::int64_t num_tokens_ = 0;
    std::int64_t score_stride_ = 0;
    FloatBuffer q_buffer_, scores_buffer_, sums_buffer_;
    float* q_ = nullptr;
    float* scores_ = nullptr;
    float* sums_ = nullptr;
    std::vector<SoftmaxSums> softmax_;
};

}  // namespace nanoserve::detail
