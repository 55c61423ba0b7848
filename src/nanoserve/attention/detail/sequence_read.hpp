// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanoserve/attention/paged_attention_params.hpp>

#include <algorithm>

namespace nanoserve::detail {

/// One sequence of the batch: its row of every array in the parameters. With a sliding window it
/// starts with the block of the first visible token.
struct SequenceRead {
    const void* q = nullptr;  ///< [num_q_heads, head_dim]
    void* out = nullptr;      ///< [num_q_heads, head_dim]
    float* lse = nullptr;     ///< [num_q_heads], may be nullptr
    const BlockId* block_table = nullptr;
    std::int64_t seq_len = 0;
    std::int64_t num_blocks = 0;  ///< used entries of block_table
};

[[nodiscard]] inline SequenceRead sequence_read(const PagedAttentionParams& p, std::int64_t seq) {
    const std::int64_t row = std::int64_t{p.num_q_heads} * p.kv.layout.head_dim;
    const std::int64_t q_stride = p.q_stride == 0 ? row : p.q_stride;
    const std::int64_t block_size = p.kv.layout.block_size;
    const std::int64_t hidden_blocks = p.rules.first_token(p.seq_lens[seq]) / block_size;
    const std::int64_t seq_len = p.seq_lens[seq] - hidden_blocks * block_size;
    return {.q = static_cast<const std::byte*>(p.q) + seq * q_stride * bytes_of(p.io_dtype),
            .out = static_cast<std::byte*>(p.out) + seq * row * bytes_of(p.io_dtype),
            .lse = p.lse == nullptr ? nullptr : p.lse + seq * p.num_q_heads,
            .block_table = p.block_tables + seq * p.max_blocks_per_seq + hidden_blocks,
            .seq_len = seq_len,
            .num_blocks = blocks_needed(seq_len, block_size)};
}

/// Tokens of the sequence in its logical block `index`: block_size, or what is left in the last
/// one.
[[nodiscard]] inline std::int64_t tokens_in_block(const SequenceRead& read, const KVLayout& layout,
                                                  std::int64_t index) {
    return std::min<std::int64_t>(layout.block_size, read.seq_len - index * layout.block_size);
}

}  // namespace nanoserve::detail
