// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanoserve/attention/detail/float_buffer.hpp>
#include <nanoserve/attention/detail/stream_ops.hpp>
#include <nanoserve/attention/detail/thread_team.hpp>
#include <nanoserve/cache/aligned_buffer.hpp>
#include <nanoserve/cache/kv_scales.hpp>
#include <nanoserve/model/attention_shape.hpp>

#include <cstdint>
#include <vector>

namespace nanoserve::detail {

/// The factors on scores and on values.
struct StreamScales {
    float sm_scale = 0.0f;
    KVScales kv;
};

/// The running softmaxes of the query heads that one thread has taken, in tiles of kStreamHeads
/// heads.
class StreamWork {
  public:
    /// Makes room for kv heads [kv_heads.begin, kv_heads.end) of `shape`, converts their part of
    /// the query, [num_q_heads, head_dim] of `dtype`, into the order that the steps want, and
    /// starts with no token.
    void begin(const AttentionShape& shape, Share kv_heads, const void* q, DType dtype,
               const StreamScales& scales, ElementOrder order);

    /// What the steps work on.
    [[nodiscard]] const StreamHeads& heads() const { return heads_; }

    /// Divides by the sums and writes out, [num_q_heads, head_dim] of `dtype`, and lse,
    /// [num_q_heads] (may be nullptr); only the rows of these heads.
    void write_output(void* out, DType dtype, float* lse) const;

  private:
    // Calls action(slot, q_head) for each query head of these KV heads; slot is its place among the
    // tiles.
    template <class Action>
    void for_each_head(Action action) const;

    // The query heads, [num_slots, head_dim], in the order of the slots and of the steps: the
    // caller's own where that is it.
    const float* query_slots(const void* q, DType dtype, std::int64_t num_slots);

    AttentionShape shape_;
    Share kv_heads_;
    KVScale v_scale_;
    ElementOrder order_;
    StreamHeads heads_;
    FloatBuffer q_, score_scale_, max_, sum_, out_;
    std::vector<StreamChunk> chunks_;
};

}  // namespace nanoserve::detail
