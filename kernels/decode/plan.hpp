// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanoserve/attention/paged_attention_params.hpp>

#include <cstdint>
#include <optional>
#include <string>

namespace nanoserve {

/// How one launch of paged_decode is cut up; all are powers of two.
struct DecodePlan {
    int num_warps = 1;         ///< of a thread block, 1 to 8
    int heads_per_block = 1;   ///< KV heads of a thread block; at most num_warps
    int num_splits = 1;        ///< thread blocks that share a history, one cluster; 1 to 8
    bool evict_first = false;  ///< the rows will not be found in L2 by the next read anyway
    bool balance = false;      ///< all SMs share the long histories; needs a workspace

    /// Equal when all fields are.
    bool operator==(const DecodePlan&) const = default;
};

/// What the plan depends on.
struct DecodeLoad {
    std::int64_t num_seqs = 0;       ///< sequences in the batch
    std::int32_t num_kv_heads = 0;   ///< heads of K and V
    std::int64_t max_tokens = 0;     ///< of a sequence that may be visible
    std::int64_t bytes_per_row = 0;  ///< of one K row of one KV head
    bool is_fp8 = false;             ///< elements of the pool
    bool has_workspace = false;      ///< for a balanced launch
};

/// What the plan has to know of the device.
struct DecodeDevice {
    int num_sms = 1;           ///< streaming multiprocessors
    bool has_clusters = true;  ///< compute capability 9.0 or later
};

/// The plan for a batch. Rule and edges, measured on an H200 with 8 KV heads, on equal lengths and
/// on random ones:
///   - up to 32 tokens: one warp for each KV head, nothing to merge; in thread blocks of their own,
///     or, where rows are shorter than 256 bytes, as many heads together as leave a thread block
///     for every other SM, with fp8 for every SM: with NHD their rows are neighbours in memory;
///   - up to 1024 tokens, where two or more heads together leave two thread blocks for each SM, as
///     many of them as do, up to eight, with two warps each or eight in all;
///   - otherwise up to 256 tokens heads together as for 32;
///   - beyond, thread blocks of one KV head, or of two where rows are shorter than 256 bytes, so
///     that lengths that differ even out over the SMs; more heads where 8 thread blocks for each SM
///     are left, and up to four from 16384 tokens on;
///   - such pairs of short rows beyond 1024 tokens and below 16384 by clusters of four thread
///     blocks with half the warps, from 4096 on of eight: where lengths differ, the long ones end
///     sooner, and where they don't a little is lost;
///   - rows of 64 bytes, two of which share a line of the cache, by clusters of eight thread
///     blocks: from 4096 tokens on with four heads, where that leaves a cluster for every SM, and
///     from 16384 on with two, where that leaves a thread block for every SM;
///   - where even one KV head each leaves SMs idle, the history is split: from 256 tokens until 32
///     thread blocks work, from 1024 until 64 do, and rows of 256 bytes from 4096 and fp8 from 1024
///     until all SMs do;
///   - warps: no more than have two tiles of 16 tokens each, or one up to 256 tokens;
///   - with a workspace, from 16384 tokens on, a balanced launch.
/// The lengths themselves may change under a captured graph: the plan only asks for their limit.
[[nodiscard]] DecodePlan plan_decode(const DecodeLoad& load, const DecodeDevice& device);

/// Why paged_decode doesn't take these parameters, naming the value and its limit; nothing if it
/// does. Looks at sizes, strides, alignment and which rules there are.
[[nodiscard]] std::optional<std::string> reason_not_to_decode(const PagedAttentionParams& params);

}  // namespace nanoserve
