// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <nanoserve/attention/detail/read_state.hpp>
#include <nanoserve/attention/detail/sequence_read.hpp>
#include <nanoserve/attention/gather_read.hpp>
#include <nanoserve/attention/sdpa.hpp>

#include <cstring>

namespace nanoserve {
namespace {

//! [copy block]
// Copies one block into `target`, [block_size, num_kv_heads, head_dim].
void copy_block(const void* pool, const KVLayout& layout, BlockId block, std::byte* target) {
    const auto* source = static_cast<const std::byte*>(pool);
    const std::int64_t element = bytes_of(layout.dtype);
    const std::int64_t row_bytes = layout.head_dim * element;
    if (layout.is_dense_nhd()) {
        const std::int64_t block_bytes = layout.block_size * layout.token_stride * element;
        std::memcpy(target, source + layout.offset(block, 0, 0) * element,
                    static_cast<std::size_t>(block_bytes));
        return;
    }
    for (std::int64_t token = 0; token < layout.block_size; ++token) {
        for (std::int64_t head = 0; head < layout.num_kv_heads; ++head) {
            std::memcpy(target, source + layout.offset(block, token, head) * element,
                        static_cast<std::size_t>(row_bytes));
            target += row_bytes;
        }
    }
}
//! [copy block]

}  // namespace

void gather_read(const PagedAttentionParams& params, ReadContext& context) {
    validate(params);
    require_no_rules(params.rules, "gather_read");
    detail::ReadState& state = context.state();
    const KVLayout& layout = params.kv.layout;
    const std::int64_t block_bytes = std::int64_t{layout.block_size} * layout.num_kv_heads *
                                     layout.head_dim * bytes_of(layout.dtype);

    for (std::int64_t seq = 0; seq < params.num_seqs; ++seq) {
        const auto read = detail::sequence_read(params, seq);
        const std::int64_t num_floats = (read.num_blocks * block_bytes + 3) / 4;
        auto* k = reinterpret_cast<std::byte*>(state.gathered.k.reserve(num_floats));
        auto* v = reinterpret_cast<std::byte*>(state.gathered.v.reserve(num_floats));
        //! [copy]
        state.team().run([&](int index) {
            const auto share = detail::share_of(read.num_blocks, index, state.team().num_threads());
            for (std::int64_t i = share.begin; i < share.end; ++i) {
                copy_block(params.kv.k_cache, layout, read.block_table[i], k + i * block_bytes);
                copy_block(params.kv.v_cache, layout, read.block_table[i], v + i * block_bytes);
            }
        });
        //! [copy]
        //! [attend]
        const std::int64_t num_slots = read.num_blocks * layout.block_size;
        auto& mask = state.gathered.mask;
        mask.assign(static_cast<std::size_t>(num_slots), 0);
        std::fill_n(mask.begin(), read.seq_len, std::uint8_t{1});
        sdpa({.q = read.q,
              .out = read.out,
              .lse = read.lse,
              .io_dtype = params.io_dtype,
              .num_queries = 1,
              .k = k,
              .v = v,
              .kv_dtype = layout.dtype,
              .scales = params.kv.scales,  // all 1 before Day 27
              .num_tokens = num_slots,
              .shape = params.shape(),
              .mask = mask.data(),
              .sm_scale = params.sm_scale},
             context);
        //! [attend]
    }
}

}  // namespace nanoserve
