// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanoserve/attention/paged_attention_params.hpp>

#include <cstdint>

namespace nanoserve::detail {

/// Element `index` of an array of `dtype`, in double precision. Slow and obvious: for oracles.
[[nodiscard]] inline double element_at(const void* data, DType dtype, std::int64_t index) {
    return visit_dtype(
        dtype, [&]<class T>() { return double{to_float(static_cast<const T*>(data)[index])}; });
}

/// Element d of query head `head` of a sequence.
[[nodiscard]] inline double q_element(const PagedAttentionParams& p, std::int64_t seq,
                                      std::int64_t head, std::int64_t d) {
    const std::int64_t head_dim = p.kv.layout.head_dim;
    const std::int64_t q_stride = p.q_stride == 0 ? p.num_q_heads * head_dim : p.q_stride;
    return element_at(p.q, p.io_dtype, seq * q_stride + head * head_dim + d);
}

/// Element d of the row of token t in a pool of `p`, found through the block table, times its
/// scale. Exact: the product of two floats fits a double.
[[nodiscard]] inline double pool_element(const void* pool, const KVScale& scale,
                                         const PagedAttentionParams& p, std::int64_t seq,
                                         std::int64_t t, std::int64_t kv_head, std::int64_t d) {
    const KVLayout& layout = p.kv.layout;
    const std::int64_t block = p.block_tables[seq * p.max_blocks_per_seq + t / layout.block_size];
    return element_at(pool, layout.dtype,
                      layout.offset(block, t % layout.block_size, kv_head) + d) *
           double{scale.of_head(kv_head)};
}

/// Element d of the K row of token t, as the read is to understand it.
[[nodiscard]] inline double k_element(const PagedAttentionParams& p, std::int64_t seq,
                                      std::int64_t t, std::int64_t kv_head, std::int64_t d) {
    return pool_element(p.kv.k_cache, p.kv.scales.k, p, seq, t, kv_head, d);
}

/// Element d of the V row of token t.
[[nodiscard]] inline double v_element(const PagedAttentionParams& p, std::int64_t seq,
                                      std::int64_t t, std::int64_t kv_head, std::int64_t d) {
    return pool_element(p.kv.v_cache, p.kv.scales.v, p, seq, t, kv_head, d);
}

}  // namespace nanoserve::detail
