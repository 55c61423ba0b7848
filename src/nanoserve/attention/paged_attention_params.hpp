// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanoserve/attention/score_rules.hpp>
#include <nanoserve/cache/block_tables.hpp>
#include <nanoserve/cache/paged_kv_view.hpp>
#include <nanoserve/model/attention_shape.hpp>

#include <cstdint>
#include <limits>
#include <optional>
#include <type_traits>

namespace nanoserve {

/// The one signature of every read, on the CPU and on the GPU: one decode query for each sequence
/// against the keys and values that its block table names. Borrows everything.
///
/// For query head h of sequence s, with g = h / group_size and t over the seq_lens[s] tokens:
/// @code
/// score[t]  = sm_scale * dot(q[s, h], K[t, g])
/// out[s, h] = sum over t of softmax(score)[t] * V[t, g]
/// lse[s, h] = ln(sum over t of exp(score[t]))
/// @endcode
/// K and V are the stored elements, times kv.scales where the pool is fp8; `rules` may change the
/// scores and leave tokens out.
/// Arithmetic is fp32: scores, and sums of weight * v, must be finite there. An empty sequence
/// gives out = 0 and lse = -inf.
struct PagedAttentionParams {
    const void* q = nullptr;  ///< [num_seqs, num_q_heads, head_dim], elements of io_dtype
    void* out = nullptr;      ///< [num_seqs, num_q_heads, head_dim], dense, elements of io_dtype
    float* lse = nullptr;     ///< [num_seqs, num_q_heads], natural logarithm; may be nullptr
    DType io_dtype = DType::fp32;  ///< of q and out; not fp8_e4m3
    std::int32_t num_q_heads = 0;  ///< a multiple of the KV heads in kv.layout
    std::int64_t q_stride = 0;     ///< elements from one sequence's q to the next; 0 means dense

    PagedKVView kv;  ///< pools of one layer
    /// [num_seqs, max_blocks_per_seq]; entries past the used ones are never followed
    const BlockId* block_tables = nullptr;
    /// [num_seqs], tokens in the cache, the newest included
    const std::int32_t* seq_lens = nullptr;
    std::int64_t num_seqs = 0;            ///< sequences in the batch
    std::int64_t max_blocks_per_seq = 0;  ///< entries in each row of block_tables

    std::optional<float> sm_scale = {};  ///< factor on q.k; empty means 1/sqrt(head_dim), 0 means 0
    ScoreRules rules = {};  ///< sliding window, soft cap, ALiBi, sinks; a read without them refuses

    /// The sizes that decide what the read costs.
    [[nodiscard]] AttentionShape shape() const {
        return {.num_q_heads = num_q_heads,
                .num_kv_heads = kv.layout.num_kv_heads,
                .head_dim = kv.layout.head_dim};
    }

    /// Tokens that a row of block_tables has room for; no more than a length can be, 2^31 - 1.
    /// Needs a block_size of at least 1.
    [[nodiscard]] std::int64_t max_tokens() const {
        constexpr std::int64_t kLongest = std::numeric_limits<std::int32_t>::max();
        return max_blocks_per_seq > kLongest / kv.layout.block_size
                   ? kLongest
                   : max_blocks_per_seq * kv.layout.block_size;
    }
};

static_assert(std::is_trivially_copyable_v<PagedAttentionParams>,
              "a kernel takes the parameters by value");

/// Points the table fields of `params` at `tables`, which must outlive it.
void set_block_tables(PagedAttentionParams& params, const BlockTables& tables);

/// Throws std::invalid_argument unless a factor on q.k and its product with log2(e), with which a
/// kernel goes from natural scores to base 2, are finite.
void require_sm_scale(std::optional<float> sm_scale);

/// Throws std::invalid_argument unless the same holds of the factor times what an element of K is
/// worth, of every KV head: reads form that product before they have a score. Follows k.heads.
void require_score_scales(std::optional<float> sm_scale, const AttentionShape& shape,
                          const KVScale& k);

/// The factor on q.k that a read uses: sm_scale, or 1/sqrt(head_dim) when it is empty.
[[nodiscard]] float effective_sm_scale(std::optional<float> sm_scale, std::int32_t head_dim);

/// Checks layout, heads, types, counts and strides: what a plan and a workspace follow from, before
/// there is anything to point to.
/// @throws std::invalid_argument naming the value and its limit
void validate_shape(const PagedAttentionParams& params);

/// Checks what can be checked without following seq_lens, block_tables or the scales of heads,
/// which may be device memory: the part of validate() that a kernel's launch can do. That the
/// factors of heads and their products with sm_scale are finite is left to the caller.
/// @throws std::invalid_argument naming the value and its limit: sizes, strides, pointers that
/// are null or between two elements, an sm_scale that require_sm_scale() refuses, or
/// require_score_scales() with the scale of the pool, a scale of a pool or a rule that can't be
void validate_sizes(const PagedAttentionParams& params);

/// Checks everything that a read relies on, before anything is written: validate_sizes(), the
/// scales of heads and the tables.
/// @throws std::invalid_argument naming the value and its limit: sizes, strides, pointers that
/// are null or between two elements, a length that the table can't hold, a used table entry outside
/// the pool, an sm_scale that require_sm_scale() or require_score_scales() refuses, a scale of a
/// pool or of a head that is not finite or not positive, a rule that can't be
void validate(const PagedAttentionParams& params);

}  // namespace nanoserve
