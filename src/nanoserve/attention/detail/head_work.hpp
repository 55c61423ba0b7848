// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanoserve/attention/detail/float_buffer.hpp>
#include <nanoserve/attention/detail/row_ops.hpp>
#include <nanoserve/attention/detail/thread_team.hpp>
#include <nanoserve/attention/score_rules.hpp>
#include <nanoserve/cache/kv_scales.hpp>
#include <nanoserve/model/attention_shape.hpp>

#include <vector>

namespace nanoserve::detail {

/// One query on its way through attention, for the KV heads that one thread has taken: the query
/// heads of their groups in fp32, their rows of scores, their sums.
class HeadWork {
  public:
    /// Makes room for kv heads [kv_heads.begin, kv_heads.end) of `shape` and `num_tokens` scores
    /// for each query head. `scales` are those of the rows that follow: a factor on every score,
    /// and one on every output, so that no element is multiplied by itself. `rules` apply to the
    /// scores, the newest of which is that of token num_tokens - 1.
    void reserve(const AttentionShape& shape, const KVScales& scales, const ScoreRules& rules,
                 Share kv_heads, std::int64_t num_tokens);

    /// Converts the query, [num_q_heads, head_dim] of `dtype`, and clears the sums.
    void load_query(const void* q, DType dtype);

    [[nodiscard]] Share kv_heads() const { return kv_heads_; }

    /// Scores of the group's query heads against the K rows of tokens first, first + 1, ..., those
    /// before a sliding window left out.
    void score(const RowOps& ops, std::int64_t kv_head, std::int64_t first, const Rows& k,
               float sm_scale);

    /// Adds weight * v for the V rows of tokens first, first + 1, ... to the group's sums, those
    /// before a sliding window left out. Tokens come in ascending order. They are summed in
    /// stretches of kStretchTokens that begin at fixed tokens, and the stretches are summed: one
    /// long chain of fp32 additions would lose three digits over a long history.
    void accumulate(const RowOps& ops, std::int64_t kv_head, std::int64_t first, const Rows& v);

    /// Sets the scores of tokens [begin, end) to -inf, for all heads.
    void hide(std::int64_t begin, std::int64_t end);

    /// Applies the rules to all scores and turns them into softmax weights that are not yet divided
    /// by their sum.
    void exponentiate(const RowOps& ops);

    /// Divides by the sums of the weights, multiplies by the scale of V and writes out,
    /// [num_q_heads, head_dim] of `dtype`, and lse, [num_q_heads] (may be nullptr); only the rows
    /// of these heads.
    void write_output(void* out, DType dtype, float* lse);

  private:
    static constexpr std::int64_t kStretchTokens = 64;

    [[nodiscard]] std::int64_t group_size() const { return shape_.group_size(); }
    [[nodiscard]] HeadMajor scores(std::int64_t kv_head, std::int64_t first) const {
        return {scores_ + (kv_head - kv_heads_.begin) * group_size() * score_stride_ + first,
                score_stride_};
    }
    void end_stretch(std::int64_t kv_head);
    // Of the rows of tokens first, first + 1, ...: how many stand before a sliding window.
    [[nodiscard]] std::int64_t hidden_rows(std::int64_t first, const Rows& rows) const;
    void apply_rules();
    void add_sink(std::int64_t row);

    [[nodiscard]] std::int64_t num_rows() const {
        return (kv_heads_.end - kv_heads_.begin) * group_size();
    }
    [[nodiscard]] std::int64_t group_offset(std::int64_t kv_head) const {
        return (kv_head - kv_heads_.begin) * group_size() * shape_.head_dim;
    }

    AttentionShape shape_;
    KVScales scales_;
    ScoreRules rules_;
    Share kv_heads_;
    std::int64_t num_tokens_ = 0;
    std::int64_t score_stride_ = 0;
    FloatBuffer q_buffer_, scores_buffer_, sums_buffer_, stretch_sums_buffer_;
    float* q_ = nullptr;             // [rows, head_dim]: rows are the query heads of these KV heads
    float* scores_ = nullptr;        // [rows, score_stride_]
    float* sums_ = nullptr;          // [rows, head_dim], of the stretches that have ended
    float* stretch_sums_ = nullptr;  // [rows, head_dim], of the current stretch
    std::vector<std::int64_t> stretch_;  // the current stretch of each KV head
    std::vector<SoftmaxSums> softmax_;   // of each row
};

}  // namespace nanoserve::detail
