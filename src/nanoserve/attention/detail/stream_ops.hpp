// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanoserve/attention/instruction_set.hpp>
#include <nanoserve/model/dtype.hpp>

#include <cstdint>

namespace nanoserve::detail {

/// Query heads that are taken together: they share every loaded row of their KV head.
inline constexpr int kStreamHeads = 4;

/// Tokens between two updates of the running maximum.
inline constexpr int kStreamTokens = 16;

/// What one tile of query heads keeps between the steps of a block.
struct alignas(64) StreamChunk {
    float
        at[kStreamTokens * kStreamHeads];  ///< scores, later weights, [kStreamTokens][kStreamHeads]
    float shrink[kStreamHeads];  ///< what the sums so far are worth against the new maximum
    bool is_first = false;       ///< nothing is in the sums yet, so they are not read
};

/// A group of query heads is cut into tiles of kStreamHeads; the last one may have heads that are
/// not used.
[[nodiscard]] constexpr std::int64_t tiles_in_group(std::int64_t group_size) {
    return (group_size + kStreamHeads - 1) / kStreamHeads;
}

/// The KV heads that one thread reads, and the running softmax of their query heads. After some
/// tokens, with m the largest score so far: max = m, sum = sum of exp(score - m), out = sum of
/// exp(score - m) * v.
struct StreamHeads {
    std::int64_t num_kv_heads = 0;
    std::int64_t group_size = 0;
    std::int64_t head_dim = 0;
    const float* score_scale = nullptr;  ///< [num_kv_heads], sm_scale times the scale of K
    const float* q = nullptr;  ///< [num_kv_heads, tiles, kStreamHeads, head_dim], 0 in unused heads
    StreamChunk* chunk = nullptr;  ///< [num_kv_heads, tiles], scratch
    float* max = nullptr;  ///< [num_kv_heads, tiles, kStreamHeads], -inf before the first token
    float* sum = nullptr;  ///< [num_kv_heads, tiles, kStreamHeads]
    float* out =
        nullptr;  ///< [num_kv_heads, tiles, kStreamHeads, head_dim], set by the first block
};

/// The rows of these KV heads in one block, and where the same rows of the block after it lie.
struct StreamBlock {
    const void* k = nullptr;
    const void* v = nullptr;
    const void* next_k = nullptr;  ///< asked for ahead of time; nullptr: nothing follows
    const void* next_v = nullptr;
    std::int64_t token_stride = 0;  ///< elements
    std::int64_t head_stride = 0;   ///< elements
    std::int64_t num_tokens = 0;
    bool is_first = false;  ///< no block came before it: out is set, not added to
};

/// Takes one block into the running softmax: score, update, accumulate; each row is loaded once.
using AttendBlock = void (*)(const StreamHeads& heads, const StreamBlock& block);

/// In which order the elements of a row lie in q and out. A step may take even and odd elements
/// apart: of every `group` elements then the even ones come first, the odd ones behind them, as far
/// as whole steps of `step` elements reach; the elements behind those keep their place.
struct ElementOrder {
    std::int64_t step = 1;   ///< elements; a multiple of group
    std::int64_t group = 1;  ///< elements; 1: all keep their place
};

struct StreamOps {
    AttendBlock attend_block = nullptr;
    ElementOrder order;
};

/// The step compiled for one instruction set and one storage type of the pool. A product and the
/// sum that takes it are rounded together (fused multiply-add) where the instruction set can: the
/// bits differ between sets.
[[nodiscard]] StreamOps stream_ops(InstructionSet set, DType dtype);

}  // namespace nanoserve::detail
