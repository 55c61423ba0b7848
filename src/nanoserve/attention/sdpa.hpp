// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanoserve/attention/read_context.hpp>
#include <nanoserve/cache/kv_scales.hpp>
#include <nanoserve/model/attention_shape.hpp>

#include <cstdint>
#include <optional>

namespace nanoserve {

/// Scaled dot-product attention over contiguous keys and values.
struct SdpaParams {
    const void* q = nullptr;  ///< [num_queries, num_q_heads, head_dim], elements of io_dtype
    void* out = nullptr;      ///< [num_queries, num_q_heads, head_dim], elements of io_dtype
    float* lse = nullptr;     ///< [num_queries, num_q_heads], natural logarithm; may be nullptr
    DType io_dtype = DType::fp32;  ///< of q and out; not fp8_e4m3
    std::int64_t num_queries = 0;  ///< rows of q, out and mask

    const void* k = nullptr;       ///< [num_tokens, num_kv_heads, head_dim], elements of kv_dtype
    const void* v = nullptr;       ///< [num_tokens, num_kv_heads, head_dim], elements of kv_dtype
    DType kv_dtype = DType::fp32;  ///< of k and v
    KVScales scales = {};          ///< of k and v, where they are fp8
    std::int64_t num_tokens = 0;   ///< rows of k and v

    AttentionShape shape;  ///< heads and head_dim
    /// [num_queries, num_tokens], 0 hides a token; nullptr: all are visible
    const std::uint8_t* mask = nullptr;
    std::optional<float> sm_scale = {};  ///< factor on q.k; empty means 1/sqrt(head_dim), 0 means 0
};

/// out = softmax(sm_scale * q K^T) V over the visible tokens, in fp32. A hidden token's K and V are
/// not read at all, so that NaN in them stays there. A query that sees no token gives out = 0 and
/// lse = -inf.
/// @throws std::invalid_argument on impossible sizes or types, a pointer that is null or between
/// two elements, an sm_scale that require_sm_scale() or require_score_scales() refuses, a scale of
/// k or v that can't be
void sdpa(const SdpaParams& params, ReadContext& context = default_read_context());

}  // namespace nanoserve
