// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <nanoserve/attention/paged_attention_params.hpp>
#include <nanoserve/model/require.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

namespace nanoserve {
namespace {

// Elements of an array: beyond any memory, and offsets in bytes stay within 64 bits.
constexpr std::int64_t kMaxElements = std::int64_t{1} << 48;

constexpr float kMaxScoreScale = std::numeric_limits<float>::max() / 1.5f;  // log2(e) is less

struct NamedPointer {
    const char* name;
    const void* pointer;
    std::int64_t element_bytes;
};

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
        require_aligned(each.name, each.pointer, each.element_bytes);
    }
    require(p.block_tables != nullptr || p.max_blocks_per_seq == 0, "block_tables is null");
    for (const NamedPointer& each : optional) {
        require_aligned(each.name, each.pointer, each.element_bytes);
    }
}

// Where one sequence's row lies is a product with its number; a batch of one has only row 0.
void require_sizes_in_memory(const PagedAttentionParams& p, std::int64_t q_stride) {
    const std::int64_t num_seqs = std::max<std::int64_t>(p.num_seqs, 1);
    require(q_stride <= kMaxElements / num_seqs, "q or out of ", p.num_seqs, " sequences, ",
            q_stride, " elements apart, has more than 2^48");
    require(num_seqs == 1 || p.max_blocks_per_seq <= kMaxElements / num_seqs,
            "max_blocks_per_seq is ", p.max_blocks_per_seq, "; ", num_seqs,
            " sequences can have at most ", kMaxElements / num_seqs);
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

void require_sm_scale(std::optional<float> sm_scale) {
    const float scale = sm_scale.value_or(1.0f);
    require(std::isfinite(scale), "sm_scale is ", scale, "; it must be finite");
    require(std::abs(scale) <= kMaxScoreScale, "sm_scale is ", scale, "; it can be at most ",
            kMaxScoreScale, " in magnitude");
}

void require_score_scales(std::optional<float> sm_scale, const AttentionShape& shape,
                          const KVScale& k) {
    const float factor = effective_sm_scale(sm_scale, shape.head_dim);
    const std::int32_t num_scales = k.heads == nullptr ? 1 : shape.num_kv_heads;
    for (std::int32_t head = 0; head < num_scales; ++head) {
        const float k_scale = k.of_head(head);
        require(std::abs(double{factor} * k_scale) <= kMaxScoreScale, "sm_scale is ", factor,
                " and an element of K is worth ", k_scale, "; their product can be at most ",
                kMaxScoreScale, " in magnitude");
    }
}

void validate_shape(const PagedAttentionParams& p) {
    validate(p.kv.layout);
    validate(p.shape());
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
    require_sizes_in_memory(p, std::max(p.q_stride, row));
}

void validate_sizes(const PagedAttentionParams& p) {
    validate_shape(p);
    validate_tensor_scales(p.kv.scales, p.kv.layout.dtype);
    require_sm_scale(p.sm_scale);
    if (p.kv.scales.k.heads == nullptr) {
        require_score_scales(p.sm_scale, p.shape(), p.kv.scales.k);
    }
    validate_sizes(p.rules);
    if (p.num_seqs > 0) {
        require_pointers(p);
    }
}

void validate(const PagedAttentionParams& p) {
    validate_sizes(p);
    validate(p.kv.scales, p.kv.layout.dtype, p.kv.layout.num_kv_heads);
    require_score_scales(p.sm_scale, p.shape(), p.kv.scales.k);
    validate(p.rules, p.num_q_heads);
    for (std::int64_t seq = 0; seq < p.num_seqs; ++seq) {
        require_used_blocks_in_pool(p, seq);
    }
}

}  // namespace nanoserve
