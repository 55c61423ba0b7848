// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <nanoserve/attention/paged_attention_params.hpp>
#include <nanoserve/model/require.hpp>

#include <cmath>
#include <cstdint>

namespace nanoserve {
namespace {

struct NamedPointer {
    const char* name;
    const void* pointer;
    std::int64_t element_bytes;
};

void require_aligned(const NamedPointer& p) {
    const auto address = reinterpret_cast<std::uintptr_t>(p.pointer);
    require(address % static_cast<std::uintptr_t>(p.element_bytes) == 0, p.name,
            " is not a multiple of ", p.element_bytes, " bytes");
}

void require_pointers(const PagedAttentionParams& p) {
    const std::int64_t io_bytes = bytes_of(p.io_dtype);
    const std::int64_t kv_bytes = bytes_of(p.kv.layout.dtype);
    const NamedPointer needed[] = {{"q", p.q, io_bytes},
                                   {"out", p.out, io_bytes},
                                   {"k_cache", p.kv.k_cache, kv_bytes},
                                   {"v_cache", p.kv.v_cache, kv_bytes},
                                   {"seq_lens", p.seq_lens, sizeof *p.seq_lens}};
    const NamedPointer optional[] = {{"block_tables", p.block_tables, sizeof *p.block_tables},
                                     {"lse", p.lse, sizeof *p.lse}};
    for (const NamedPointer& each : needed) {
        require(each.pointer != nullptr, each.name, " is null");
        require_aligned(each);
    }
    require(p.block_tables != nullptr || p.max_blocks_per_seq == 0, "block_tables is null");
    for (const NamedPointer& each : optional) {
        require_aligned(each);
    }
}

void require_used_blocks_in_pool(const PagedAttentionParams& p, std::int64_t seq) {
    const KVLayout& layout = p.kv.layout;
    const std::int64_t seq_len = p.seq_lens[seq];
    const bool fits = blocks_needed(seq_len, layout.block_size) <= p.max_blocks_per_seq;
    require(seq_len >= 0 && fits, "seq_lens[", seq, "] is ", seq_len, "; the table holds ",
            p.max_blocks_per_seq, " blocks of ", layout.block_size, " tokens");
    for (std::int64_t i = p.rules.first_token(seq_len) / layout.block_size;
         i < blocks_needed(seq_len, layout.block_size); ++i) {
        const BlockId id = p.block_tables[seq * p.max_blocks_per_seq + i];
        require(id >= 0 && id < layout.num_blocks, "block_tables[", seq, ", ", i, "] is ", id,
                "; the pool has ", layout.num_blocks, " blocks");
    }
}

}  // namespace

void set_block_tables(PagedAttentionParams& params, const BlockTables& tables) {
    params.block_tables = tables.block_tables.data();
    params.seq_lens = tables.seq_lens.data();
    params.num_seqs = tables.num_seqs();
    params.max_blocks_per_seq = tables.max_blocks_per_seq;
}

float effective_sm_scale(std::optional<float> sm_scale, std::int32_t head_dim) {
    return sm_scale.value_or(1.0f / std::sqrt(static_cast<float>(head_dim)));
}

void validate_sizes(const PagedAttentionParams& p) {
    validate(p.kv.layout);
    validate(p.shape());
    validate_tensor_scales(p.kv.scales, p.kv.layout.dtype);
    require(p.io_dtype != DType::fp8_e4m3,
            "io_dtype is fp8_e4m3, a type of pools; q and out take fp32, fp16, bf16");
    require(is_io_dtype(p.io_dtype), "io_dtype ", static_cast<int>(p.io_dtype),
            " is none of fp32, fp16, bf16");
    require(p.num_seqs >= 0, "num_seqs is ", p.num_seqs, "; it must not be negative");
    require(p.max_blocks_per_seq >= 0, "max_blocks_per_seq is ", p.max_blocks_per_seq,
            "; it must not be negative");
    const std::int64_t row = std::int64_t{p.num_q_heads} * p.kv.layout.head_dim;
    require(p.q_stride == 0 || p.q_stride >= row, "q_stride is ", p.q_stride, "; a query has ", row,
            " elements");
    require(!p.sm_scale || std::isfinite(*p.sm_scale), "sm_scale is ", p.sm_scale.value_or(0.0f),
            "; it must be finite");
    validate_sizes(p.rules);
    if (p.num_seqs > 0) {
        require_pointers(p);
    }
}

void validate(const PagedAttentionParams& p) {
    validate_sizes(p);
    validate(p.kv.scales, p.kv.layout.dtype, p.kv.layout.num_kv_heads);
    validate(p.rules, p.num_q_heads);
    for (std::int64_t seq = 0; seq < p.num_seqs; ++seq) {
        require_used_blocks_in_pool(p, seq);
    }
}

}  // namespace nanoserve
