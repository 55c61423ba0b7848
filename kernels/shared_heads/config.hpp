// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanoserve/attention/paged_attention_params.hpp>

#include <kernels/general/divider.hpp>
#include <kernels/general/host_device.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>

namespace nanoserve {

/// What a lane loads at once: 16 bytes of a row, the widest load that there is.
constexpr int kChunkBytes = 16;

/// The compile-time sizes of the kernels whose query heads share each row.
/// @tparam Element of the pools: float, Fp16 or Bf16
/// @tparam kHeadsTogether query heads that a thread block has room for
template <class Element, int kHeadsTogether>
struct SharedHeadsConfig {
    using T = Element;                             ///< of the pools
    static constexpr int kHeads = kHeadsTogether;  ///< query heads that share a row
    static constexpr int kNumLanes = 32;           ///< of a warp
    static constexpr int kElements = kChunkBytes / static_cast<int>(sizeof(T));  ///< of a chunk
    static constexpr int kMaxHeadDim =
        kElements * kNumLanes;  ///< a row has one chunk for each lane

    /// Rows of K, and as many of V, that a lane has on their way.
    static constexpr int kSteps = 4;

    /// A lane keeps kElements of q and of out for each head: 4 heads of 16-bit elements are 64
    /// registers, 8 are 128, so that fewer warps fit on an SM.
    static constexpr int kNumWarps = kHeads <= 4 ? 8 : 4;
    static constexpr int kNumThreads = kNumWarps * kNumLanes;  ///< of a thread block
    static constexpr int kThreadBlocksPerSm = 2;               ///< that must fit, at least

    static_assert(kNumThreads * kThreadBlocksPerSm * 2 * kSteps * kChunkBytes >= 32 * 1024,
                  "Little's law wants 33 KB on their way, on each SM of an H200");
};

/// What the kernels work on: the parameters, and what the host can work out beforehand.
struct SharedHeadsArgs {
    PagedAttentionParams params;      ///< as the caller gave them
    std::int64_t q_stride = 0;        ///< elements from one sequence's q to the next, never 0
    float scale = 0.0f;               ///< sm_scale * log2 e: scores are in base 2
    std::int32_t chunks_log2 = 0;     ///< a row has 1 << chunks_log2 chunks
    std::uint32_t block_chunks = 0;   ///< from one block to the next
    std::uint32_t token_chunks = 0;   ///< from one token of a block to the next
    std::uint32_t head_chunks = 0;    ///< from one KV head to the next
    Divider by_block_size{1};         ///< from a token to its place in the table
    std::int32_t max_tokens = 0;      ///< of one sequence: what its table row has room for
    std::int32_t group_size = 0;      ///< query heads of a KV head
    std::int32_t num_passes = 1;      ///< thread blocks that share out the heads of a large group
    std::uint32_t* status = nullptr;  ///< takes bits of ReadStatus; may be nullptr

    /// The entry of a token in its sequence's table.
    [[nodiscard]] NANOSERVE_DEVICE std::int32_t table_entry(std::int32_t token) const {
        return static_cast<std::int32_t>(by_block_size.quotient(static_cast<std::uint32_t>(token)));
    }
};

static_assert(std::is_trivially_copyable_v<SharedHeadsArgs>, "a kernel takes them by value");

/// Why shared_heads_attention and split_kv_attention don't take these parameters, naming the value
/// and its limit; nothing if they do. Looks at sizes, strides and alignment only.
[[nodiscard]] std::optional<std::string> reason_not_to_share_heads(
    const PagedAttentionParams& params);

/// Query heads that one thread block works on: 1, 2, 4 or 8. A group of 3 leaves one place idle,
/// one of 12 is dealt out to two thread blocks, each of which reads the rows.
[[nodiscard]] constexpr std::int32_t heads_together(std::int32_t group_size) {
    return group_size <= 1 ? 1 : group_size <= 2 ? 2 : group_size <= 4 ? 4 : 8;
}

/// Thread blocks that read one part of each history of a batch that validate_shape() takes.
[[nodiscard]] std::int64_t num_group_blocks(const PagedAttentionParams& params);

/// Checks the parameters without following seq_lens or block_tables, and fills in the rest.
/// @throws std::invalid_argument as validate_sizes() does, with what reason_not_to_share_heads()
/// says, and when num_seqs * num_q_heads is more than a grid's 2^31 - 1 thread blocks
[[nodiscard]] SharedHeadsArgs make_shared_heads_args(const PagedAttentionParams& params,
                                                     std::uint32_t* status);

/// Calls `action.template operator()<Config>()` with the configuration for these sizes.
template <class Action>
void visit_shared_heads_config(const SharedHeadsArgs& args, Action&& action) {
    const auto choose = [&]<class T>() {
        switch (heads_together(args.group_size)) {
            case 1:
                return action.template operator()<SharedHeadsConfig<T, 1>>();
            case 2:
                return action.template operator()<SharedHeadsConfig<T, 2>>();
            case 4:
                return action.template operator()<SharedHeadsConfig<T, 4>>();
            default:
                return action.template operator()<SharedHeadsConfig<T, 8>>();
        }
    };
    switch (args.params.kv.layout.dtype) {
        case DType::fp16:
            return choose.template operator()<Fp16>();
        case DType::bf16:
            return choose.template operator()<Bf16>();
        case DType::fp32:
        case DType::fp8_e4m3:  // which make_shared_heads_args() refuses
            return choose.template operator()<float>();
    }
}

}  // namespace nanoserve
