// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <nanoserve/model/require.hpp>

#include <kernels/general/base2.hpp>
#include <kernels/shared_heads/config.hpp>

#include <bit>
#include <limits>
#include <utility>

namespace nanoserve {
namespace {

std::int32_t log2_or_none(std::int64_t size) {
    const auto value = static_cast<std::uint64_t>(size);
    return std::has_single_bit(value) ? std::countr_zero(value) : -1;
}

std::int64_t row_bytes(const KVLayout& layout) {
    return layout.head_dim * bytes_of(layout.dtype);
}

bool is_chunk_aligned(const void* pointer) {
    return reinterpret_cast<std::uintptr_t>(pointer) % kChunkBytes == 0;
}

std::int32_t passes_of(std::int32_t group_size) {
    const std::int32_t heads = heads_together(group_size);
    return (group_size + heads - 1) / heads;
}

}  // namespace

std::optional<std::string> reason_not_to_share_heads(const PagedAttentionParams& params) {
    const KVLayout& layout = params.kv.layout;
    const std::int64_t bytes = row_bytes(layout);
    if (layout.dtype == DType::fp8_e4m3) {
        return "the pool is fp8_e4m3; fp32, fp16 and bf16 are taken";
    }
    if (params.rules.any()) {
        return "no sliding window, soft cap, ALiBi or sinks are taken";
    }
    if (bytes % kChunkBytes != 0 || bytes > 32 * kChunkBytes ||
        log2_or_none(bytes / kChunkBytes) < 0) {
        return join_text("a row of head_dim ", layout.head_dim, " is ", bytes,
                         " bytes; 16, 32, 64, 128, 256 and 512 are taken");
    }
    for (const auto& [name, stride] : {std::pair{"block_stride", layout.block_stride},
                                       std::pair{"token_stride", layout.token_stride},
                                       std::pair{"head_stride", layout.head_stride}}) {
        if (stride * bytes_of(layout.dtype) % kChunkBytes != 0) {
            return join_text(name, " is ", stride * bytes_of(layout.dtype),
                             " bytes; multiples of 16 are taken");
        }
    }
    if (!is_chunk_aligned(params.kv.k_cache) || !is_chunk_aligned(params.kv.v_cache)) {
        return "k_cache and v_cache must be multiples of 16 bytes";
    }
    // Chunks are counted in 32 bits, the last number being none of them.
    constexpr std::int64_t kMaxPoolBytes = (std::int64_t{1} << 32) * kChunkBytes - kChunkBytes;
    if (layout.num_blocks > 0 &&
        layout.block_stride > kMaxPoolBytes / bytes_of(layout.dtype) / layout.num_blocks) {
        return join_text("a pool of ", layout.num_blocks, " blocks, ",
                         layout.block_stride * bytes_of(layout.dtype),
                         " bytes each, is too large; less than 2^36 bytes are taken");
    }
    constexpr std::int64_t kMaxTokens = std::int64_t{1} << 30;
    if (params.max_blocks_per_seq > kMaxTokens / layout.block_size) {
        return join_text("max_blocks_per_seq is ", params.max_blocks_per_seq, "; ",
                         kMaxTokens / layout.block_size, " are taken");
    }
    return {};
}

std::int64_t num_group_blocks(const PagedAttentionParams& params) {
    return params.num_seqs * params.kv.layout.num_kv_heads *
           passes_of(params.num_q_heads / params.kv.layout.num_kv_heads);
}

SharedHeadsArgs make_shared_heads_args(const PagedAttentionParams& params, std::uint32_t* status) {
    validate_sizes(params);
    require_aligned("status", status, sizeof *status);
    const auto reason = reason_not_to_share_heads(params);
    require(!reason.has_value(), reason.value_or(""));
    constexpr std::int64_t kMaxThreadBlocks = std::numeric_limits<std::int32_t>::max();
    require(params.num_seqs <= kMaxThreadBlocks / params.num_q_heads, "num_seqs is ",
            params.num_seqs, "; with ", params.num_q_heads, " query heads a grid holds ",
            kMaxThreadBlocks / params.num_q_heads);
    const KVLayout& layout = params.kv.layout;
    const std::int32_t group_size = params.num_q_heads / layout.num_kv_heads;
    const std::int64_t chunk_elements = kChunkBytes / bytes_of(layout.dtype);
    return {.params = params,
            .q_stride = params.q_stride != 0 ? params.q_stride
                                             : std::int64_t{params.num_q_heads} * layout.head_dim,
            .scale = effective_sm_scale(params.sm_scale, layout.head_dim) * kLog2E,
            .chunks_log2 = log2_or_none(row_bytes(layout) / kChunkBytes),
            .block_chunks = static_cast<std::uint32_t>(layout.block_stride / chunk_elements),
            .token_chunks = static_cast<std::uint32_t>(layout.token_stride / chunk_elements),
            .head_chunks = static_cast<std::uint32_t>(layout.head_stride / chunk_elements),
            .by_block_size = Divider(static_cast<std::uint32_t>(layout.block_size)),
            .max_tokens = static_cast<std::int32_t>(params.max_tokens()),
            .group_size = group_size,
            .num_passes = passes_of(group_size),
            .status = status};
}

}  // namespace nanoserve
