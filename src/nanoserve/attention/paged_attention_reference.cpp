// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <nanoserve/attention/detail/read_state.hpp>
#include <nanoserve/attention/detail/sequence_read.hpp>
#include <nanoserve/attention/paged_attention_reference.hpp>

namespace nanoserve {
namespace {

//! [rows]
// Rows of one KV head in one physical block of a pool.
detail::Rows rows_of(const void* pool, const KVLayout& layout, BlockId block,
                     std::int64_t num_tokens, std::int64_t kv_head) {
    const std::int64_t offset = layout.offset(block, 0, kv_head);
    return {.data = static_cast<const std::byte*>(pool) + offset * bytes_of(layout.dtype),
            .element_bytes = bytes_of(layout.dtype),
            .row_stride = layout.token_stride,
            .num_rows = num_tokens,
            .head_dim = layout.head_dim};
}
//! [rows]

//! [in place]
void attend_in_place(const PagedKVView& kv, const detail::SequenceRead& read, float sm_scale,
                     const detail::RowOps& ops, detail::HeadWork& work) {
    const KVLayout& layout = kv.layout;
    const auto heads = work.kv_heads();
    for (std::int64_t i = 0; i < read.num_blocks; ++i) {
        for (std::int64_t h = heads.begin; h < heads.end; ++h) {
            const auto k = rows_of(kv.k_cache, layout, read.block_table[i],
                                   tokens_in_block(read, layout, i), h);
            work.score(ops, h, i * layout.block_size, k, sm_scale);
        }
    }
    work.exponentiate(ops);
    for (std::int64_t i = 0; i < read.num_blocks; ++i) {
        for (std::int64_t h = heads.begin; h < heads.end; ++h) {
            const auto v = rows_of(kv.v_cache, layout, read.block_table[i],
                                   tokens_in_block(read, layout, i), h);
            work.accumulate(ops, h, i * layout.block_size, v);
        }
    }
}
//! [in place]

}  // namespace

void paged_attention_reference(const PagedAttentionParams& params, ReadContext& context) {
    validate(params);
    detail::ReadState& state = context.state();
    const detail::RowOps& ops = state.row_ops(params.kv.layout.dtype);
    const float sm_scale = effective_sm_scale(params.sm_scale, params.kv.layout.head_dim);
    for (std::int64_t seq = 0; seq < params.num_seqs; ++seq) {
        const auto read = detail::sequence_read(params, seq);
        state.for_each_share_of_heads(params.shape(), params.kv.scales, params.rules, read.seq_len,
                                      [&](detail::HeadWork& work) {
                                          work.load_query(read.q, params.io_dtype);
                                          attend_in_place(params.kv, read, sm_scale, ops, work);
                                          work.write_output(read.out, params.io_dtype, read.lse);
                                      });
    }
}

}  // namespace nanoserve
