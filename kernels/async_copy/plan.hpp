// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanoserve/attention/paged_attention_params.hpp>

#include <kernels/decode/plan.hpp>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>

namespace nanoserve {

/// How async_copy_attention and tensor_core_attention are cut up. What a thread block has on its
/// way is num_warps * num_stages tiles of K and V, 32 * head_dim * 2 bytes each.
struct AsyncCopyPlan {
    int num_stages = 4;       ///< tiles that a warp has on their way, 1 to 6
    int num_warps = 8;        ///< of a thread block: 1, 2, 4 or 8
    int heads_per_block = 1;  ///< KV heads of a thread block: a power of two, at most num_warps
    int num_splits = 1;       ///< thread blocks that share a history: a power of two up to 32

    bool operator==(const AsyncCopyPlan&) const = default;  ///< all members are
};

/// Stages of a warp's ring that has room for what the warp leaves there as well:
/// [group_slots][head_dim + 4] floats, then a maximum and a sum for each.
[[nodiscard]] constexpr std::int64_t split_walk_stages(std::int64_t num_stages,
                                                       std::int64_t head_dim,
                                                       std::int64_t group_slots) {
    const std::int64_t stage_bytes = 2 * 16 * head_dim * 2;
    const std::int64_t partial_bytes = group_slots * (head_dim + 4 + 2) * 4;
    return std::max(num_stages, (partial_bytes + stage_bytes - 1) / stage_bytes);
}

/// The plan for a batch, from its limits alone, so that lengths may change under a captured graph:
///   - as many KV heads of a page together as leave a thread block for 9 of 10 SMs: their rows are
///     neighbours in memory;
///   - where one KV head each leaves SMs idle, the history is split until they have work, into
///     pieces of no fewer than 8 tiles of 16 tokens;
///   - as many warps as have two tiles each, no more than 8;
///   - as many stages as make 128 KB for a thread block, and as a warp has tiles, no more than 6;
///   - where a thread block can't have the shared memory for one stage, half the warps, and of
///     several heads half, until it can.
[[nodiscard]] AsyncCopyPlan plan_async_copy(const DecodeLoad& load, int num_sms,
                                            std::int64_t max_shared_bytes = kSharedBytesOfSm90);

/// The same for a batch of this shape. Reads sizes alone.
/// @throws std::invalid_argument as validate_shape() does
[[nodiscard]] AsyncCopyPlan plan_async_copy(const PagedAttentionParams& params, int num_sms,
                                            std::int64_t max_shared_bytes = kSharedBytesOfSm90);

/// Why async_copy_attention doesn't take these parameters, naming the value and its limit; nothing
/// if it does. Looks at sizes, strides and alignment only.
[[nodiscard]] std::optional<std::string> reason_not_to_copy_async(
    const PagedAttentionParams& params);

/// The same of tensor_core_attention, which takes larger groups.
[[nodiscard]] std::optional<std::string> reason_not_to_use_tensor_cores(
    const PagedAttentionParams& params);

/// Why a batch with this layout and so many query heads for each KV head can't be cut up so, where
/// a thread block can have so much shared memory; nothing if it can.
[[nodiscard]] std::optional<std::string> reason_not_to_plan(
    const AsyncCopyPlan& plan, const KVLayout& layout, std::int32_t group_size = 1,
    std::int64_t max_shared_bytes = kSharedBytesOfSm90);

/// Checks what a launch on any device relies on.
/// @param params sizes, strides and alignment alone
/// @param plan as the caller gave it
/// @param reason_not_to what the kernel says of the parameters
/// @throws std::invalid_argument as validate_sizes() does, and with the reasons
void require_plan(const PagedAttentionParams& params, const AsyncCopyPlan& plan,
                  std::optional<std::string> (*reason_not_to)(const PagedAttentionParams&));

}  // namespace nanoserve
