// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <nanoserve/model/require.hpp>

#include <kernels/async_copy/plan.hpp>

#include <algorithm>
#include <bit>
#include <limits>
#include <string_view>
#include <tuple>
#include <utility>

namespace nanoserve {
namespace {

constexpr std::int64_t kTileTokens = 16;
constexpr int kMaxStages = 6;
constexpr int kMaxWarps = 8;
constexpr int kMaxSplits = 32;
constexpr std::int64_t kMinTilesOfSplit = 8;
constexpr std::int64_t kRingBytes = 128 * 1024;  // of a thread block: what a plan asks for
constexpr std::int64_t kMaxTokens = std::int64_t{1} << 30;

int heads_together(const DecodeLoad& load, std::int64_t wanted) {
    int heads = 1;
    while (heads < kMaxWarps && load.num_kv_heads % (2 * heads) == 0 &&
           load.num_seqs * load.num_kv_heads / (2 * heads) >= wanted) {
        heads *= 2;
    }
    return heads;
}

std::int64_t tile_bytes(std::int64_t bytes_per_row) {  // K and V
    return 2 * kTileTokens * bytes_per_row;
}

// Rows of 16-bit elements. What groups of up to 8 query heads leave has room in one stage.
std::int64_t shared_bytes(int num_warps, int num_stages, std::int64_t bytes_per_row,
                          std::int32_t group_size) {
    const std::int64_t stages =
        split_walk_stages(num_stages, bytes_per_row / 2, group_size <= 8 ? 8 : 16);
    return num_warps * stages * tile_bytes(bytes_per_row);
}

bool is_power_of_two(int value, int limit) {
    return value >= 1 && value <= limit && std::has_single_bit(static_cast<unsigned>(value));
}

bool is_multiple(const void* pointer, std::uintptr_t bytes) {
    return reinterpret_cast<std::uintptr_t>(pointer) % bytes == 0;
}

std::optional<std::string> reason_not_to_copy_tiles(const PagedAttentionParams& params,
                                                    std::string_view kernel,
                                                    std::int32_t max_group_size) {
    const KVLayout& layout = params.kv.layout;
    const std::int64_t bytes = bytes_of(layout.dtype);
    if ((layout.dtype != DType::bf16 && layout.dtype != DType::fp16) ||
        params.io_dtype != layout.dtype) {
        return join_text(kernel, " takes bf16 or fp16, the same for pool, q and out");
    }
    if (params.rules.any()) {
        return join_text(kernel, " takes no sliding window, soft cap, ALiBi or sinks");
    }
    if (layout.head_dim != 64 && layout.head_dim != 128) {
        return join_text("head_dim is ", layout.head_dim, "; ", kernel, " takes 64 and 128");
    }
    const std::int32_t group_size = params.num_q_heads / layout.num_kv_heads;
    if (group_size > max_group_size) {
        return join_text("a group has ", group_size, " query heads; ", kernel, " takes ",
                         max_group_size);
    }
    if (layout.block_size < kTileTokens ||
        !std::has_single_bit(static_cast<unsigned>(layout.block_size))) {
        return join_text("block_size is ", layout.block_size, "; ", kernel,
                         " takes powers of two from 16 on");
    }
    for (const auto& [name, stride] : {std::pair{"block_stride", layout.block_stride},
                                       std::pair{"token_stride", layout.token_stride},
                                       std::pair{"head_stride", layout.head_stride}}) {
        if (stride * bytes % 16 != 0 ||
            stride * bytes * kTileTokens > std::numeric_limits<std::uint32_t>::max()) {
            return join_text(name, " is ", stride * bytes, " bytes; ", kernel,
                             " takes multiples of 16 below 2^28");
        }
    }
    if (!is_multiple(params.kv.k_cache, 16) || !is_multiple(params.kv.v_cache, 16)) {
        return "k_cache and v_cache must be multiples of 16 bytes";
    }
    if (!is_multiple(params.q, 4) || params.q_stride % 2 != 0) {
        return "q and q_stride must be multiples of 4 bytes";
    }
    if (params.max_tokens() > kMaxTokens) {
        return join_text("max_blocks_per_seq is ", params.max_blocks_per_seq, "; ", kernel,
                         " takes ", kMaxTokens / layout.block_size);
    }
    return {};
}

}  // namespace

AsyncCopyPlan plan_async_copy(const DecodeLoad& load, int num_sms, std::int64_t max_shared_bytes) {
    const std::int64_t num_tiles = (load.max_tokens + kTileTokens - 1) / kTileTokens;
    const std::int64_t wanted = num_sms * 9 / 10;
    AsyncCopyPlan plan{.heads_per_block = heads_together(load, wanted)};
    while (plan.heads_per_block == 1 && plan.num_splits < kMaxSplits &&
           load.num_seqs * load.num_kv_heads * plan.num_splits < wanted &&
           num_tiles >= 2 * plan.num_splits * kMinTilesOfSplit) {
        plan.num_splits *= 2;
    }
    const auto warps_of_history = [&] {
        return plan.num_splits * plan.num_warps / plan.heads_per_block;
    };
    while (plan.num_warps > plan.heads_per_block && num_tiles < 2 * warps_of_history()) {
        plan.num_warps /= 2;
    }
    while (plan.num_warps > 1 && shared_bytes(plan.num_warps, 1, load.bytes_per_row,
                                              load.group_size) > max_shared_bytes) {
        plan.num_warps /= 2;
        plan.heads_per_block = std::max(1, plan.heads_per_block / 2);
    }
    const std::int64_t ring_bytes = std::min(kRingBytes, max_shared_bytes);
    const std::int64_t tiles_of_warp = (num_tiles + warps_of_history() - 1) / warps_of_history();
    plan.num_stages = static_cast<int>(std::clamp<std::int64_t>(
        std::min(ring_bytes / (plan.num_warps * tile_bytes(load.bytes_per_row)), tiles_of_warp), 1,
        kMaxStages));
    return plan;
}

AsyncCopyPlan plan_async_copy(const PagedAttentionParams& params, int num_sms,
                              std::int64_t max_shared_bytes) {
    validate_shape(params);
    const KVLayout& layout = params.kv.layout;
    return plan_async_copy(DecodeLoad{.num_seqs = params.num_seqs,
                                      .num_kv_heads = layout.num_kv_heads,
                                      .max_tokens = params.max_tokens(),
                                      .bytes_per_row = layout.head_dim * bytes_of(layout.dtype),
                                      .group_size = params.num_q_heads / layout.num_kv_heads},
                           num_sms, max_shared_bytes);
}

std::optional<std::string> reason_not_to_copy_async(const PagedAttentionParams& params) {
    return reason_not_to_copy_tiles(params, "async_copy_attention", 8);
}

std::optional<std::string> reason_not_to_use_tensor_cores(const PagedAttentionParams& params) {
    return reason_not_to_copy_tiles(params, "tensor_core_attention", 16);
}

std::optional<std::string> reason_not_to_plan(const AsyncCopyPlan& plan, const KVLayout& layout,
                                              std::int32_t group_size,
                                              std::int64_t max_shared_bytes) {
    if (plan.num_stages < 1 || plan.num_stages > kMaxStages) {
        return join_text("num_stages is ", plan.num_stages, "; it must be 1 to ", kMaxStages);
    }
    for (const auto& [name, value, limit] :
         {std::tuple{"num_warps", plan.num_warps, kMaxWarps},
          std::tuple{"heads_per_block", plan.heads_per_block, kMaxWarps},
          std::tuple{"num_splits", plan.num_splits, kMaxSplits}}) {
        if (!is_power_of_two(value, limit)) {
            return join_text(name, " is ", value, "; it must be a power of two up to ", limit);
        }
    }
    if (plan.heads_per_block > plan.num_warps) {
        return join_text("heads_per_block is ", plan.heads_per_block, "; there are ",
                         plan.num_warps, " warps");
    }
    if (layout.num_kv_heads % plan.heads_per_block != 0) {
        return join_text("heads_per_block is ", plan.heads_per_block, "; it must divide ",
                         layout.num_kv_heads, " KV heads");
    }
    const std::int64_t ring_bytes = shared_bytes(
        plan.num_warps, plan.num_stages, layout.head_dim * bytes_of(layout.dtype), group_size);
    if (ring_bytes > max_shared_bytes) {
        return join_text(plan.num_warps, " warps with ", plan.num_stages, " stages each need ",
                         ring_bytes, " bytes of shared memory; a thread block has ",
                         max_shared_bytes);
    }
    return {};
}

void require_plan(const PagedAttentionParams& params, const AsyncCopyPlan& plan,
                  std::optional<std::string> (*reason_not_to)(const PagedAttentionParams&)) {
    validate_sizes(params);
    for (const auto& reason : {reason_not_to(params), reason_not_to_plan(plan, params.kv.layout)}) {
        require(!reason.has_value(), reason.value_or(""));
    }
}

}  // namespace nanoserve
