// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <nanoserve/attention/detail/read_state.hpp>
#include <nanoserve/attention/detail/sequence_read.hpp>
#include <nanoserve/attention/merge_splits.hpp>
#include <nanoserve/attention/streaming_read.hpp>
#include <nanoserve/model/require.hpp>

#include <algorithm>

namespace nanoserve {
namespace {

// Where the rows of kv head `first_head` in logical block i lie, and those of the block after it if
// it is before `end`.
detail::StreamBlock block_at(const PagedKVView& kv, const detail::SequenceRead& read,
                             std::int64_t i, detail::Share blocks, std::int64_t first_head) {
    const KVLayout& layout = kv.layout;
    const auto rows = [&](const void* pool, std::int64_t index) -> const void* {
        return static_cast<const std::byte*>(pool) +
               layout.offset(read.block_table[index], 0, first_head) * bytes_of(layout.dtype);
    };
    const bool last = i + 1 == blocks.end;
    return {.k = rows(kv.k_cache, i),
            .v = rows(kv.v_cache, i),
            .next_k = last ? nullptr : rows(kv.k_cache, i + 1),
            .next_v = last ? nullptr : rows(kv.v_cache, i + 1),
            .token_stride = layout.token_stride,
            .head_stride = layout.head_stride,
            .num_tokens = tokens_in_block(read, layout, i),
            .is_first = i == blocks.begin};
}

// Where the result of one piece goes.
struct Target {
    void* out = nullptr;  // [num_q_heads, head_dim]
    DType dtype = DType::fp32;
    float* lse = nullptr;  // [num_q_heads], may be nullptr
};

// One piece of the history, some of the KV heads.
void read_piece(const PagedAttentionParams& p, const detail::SequenceRead& read,
                detail::Share blocks, detail::Share kv_heads, const detail::StreamOps& ops,
                const Target& target, detail::StreamWork& work) {
    work.begin(p.shape(), kv_heads, read.q, p.io_dtype,
               {effective_sm_scale(p.sm_scale, p.kv.layout.head_dim), p.kv.scales}, ops.order);
    for (std::int64_t i = blocks.begin; i < blocks.end; ++i) {
        ops.attend_block(work.heads(), block_at(p.kv, read, i, blocks, kv_heads.begin));
    }
    work.write_output(target.out, target.dtype, target.lse);
}

void read_sequence(const PagedAttentionParams& p, const detail::SequenceRead& read,
                   std::int64_t num_splits, detail::ReadState& state) {
    const std::int64_t num_q_heads = p.num_q_heads;
    const std::int64_t num_kv_heads = p.kv.layout.num_kv_heads;
    const std::int64_t head_dim = p.kv.layout.head_dim;
    float* out_partial = state.partials.out.reserve(num_splits * num_q_heads * head_dim);
    float* lse_partial = state.partials.lse.reserve(num_splits * num_q_heads);
    const detail::StreamOps ops = detail::stream_ops(state.instruction_set(), p.kv.layout.dtype);
    const int num_threads = state.team().num_threads();

    // The work is num_splits x num_kv_heads units, split by split; each thread takes a stretch of
    // them.
    state.team().run([&](int index) {
        const auto units = detail::share_of(num_splits * num_kv_heads, index, num_threads);
        for (std::int64_t split = units.begin / num_kv_heads; split * num_kv_heads < units.end;
             ++split) {
            const detail::Share kv_heads = {
                std::max<std::int64_t>(0, units.begin - split * num_kv_heads),
                std::min(num_kv_heads, units.end - split * num_kv_heads)};
            const Target whole = {.out = read.out, .dtype = p.io_dtype, .lse = read.lse};
            const Target piece = {.out = out_partial + split * num_q_heads * head_dim,
                                  .dtype = DType::fp32,
                                  .lse = lse_partial + split * num_q_heads};
            const auto blocks = detail::share_of(read.num_blocks, static_cast<int>(split),
                                                 static_cast<int>(num_splits));
            read_piece(p, read, blocks, kv_heads, ops, num_splits == 1 ? whole : piece,
                       state.stream_work(index));
        }
    });
    if (num_splits > 1) {
        merge_splits({.out_partial = out_partial,
                      .lse_partial = lse_partial,
                      .num_splits = num_splits,
                      .num_rows = num_q_heads,
                      .head_dim = head_dim,
                      .out = read.out,
                      .out_dtype = p.io_dtype,
                      .lse = read.lse});
    }
}

}  // namespace

void streaming_read(const PagedAttentionParams& params, std::int64_t num_splits,
                    ReadContext& context) {
    validate(params);
    require_no_rules(params.rules, "streaming_read");
    require(num_splits >= 1 && num_splits <= 65536, "num_splits is ", num_splits,
            "; it must be from 1 to 65536");
    for (std::int64_t seq = 0; seq < params.num_seqs; ++seq) {
        read_sequence(params, detail::sequence_read(params, seq), num_splits, context.state());
    }
}

}  // namespace nanoserve
