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
    std::int64_t num_seqs = 0;            ///< sequences in the batch
    std::int32_t num_kv_heads = 0;        ///< heads of K and V
    std::int64_t max_tokens = 0;          ///< of a sequence that may be visible
    std::int64_t bytes_per_row = 0;       ///< of one K row of one KV head
    std::int64_t bytes_of_q_and_out = 0;  ///< of all query heads of all sequences
    bool is_fp8 = false;                  ///< elements of the pool
    bool has_workspace = false;           ///< for a balanced launch
    std::int32_t group_size = 1;          ///< query heads that share a KV head
    std::int64_t room_tokens = 0;         ///< of a table row, should a window leave fewer visible
};

/// Rows, KV heads of sequences, of a balanced launch at most: as many arrivals a workspace counts.
constexpr std::int64_t kMaxBalancedRows = std::int64_t{1} << 16;

/// Whether a balanced launch can take a load: it counts its rows in the workspace, and the tiles of
/// all rows in 31 bits.
[[nodiscard]] bool can_balance(const DecodeLoad& load);

/// The load of a read. With a sliding window the newest tokens count, and no workspace.
[[nodiscard]] DecodeLoad load_of(const PagedAttentionParams& params, bool has_workspace);

/// Bytes of shared memory that a thread block can have from compute capability 9.0 to 10.3. Others
/// have less: 163 KB of 8.0 and 8.7, 99 KB of 8.6, 8.9 and 12.
constexpr std::int64_t kSharedBytesOfSm90 = 227 * 1024;

/// What the plan has to know of the device.
struct DecodeDevice {
    int num_sms = 1;           ///< streaming multiprocessors
    bool has_clusters = true;  ///< and overlapping launches, see can_use_clusters()
    /// bytes that a thread block can have
    std::int64_t max_shared_bytes = kSharedBytesOfSm90;
};

/// Whether thread blocks can share a history as a cluster, and a launch can overlap the one before
/// it: from compute capability 9.0 on, in code that was compiled for that. What the driver makes of
/// PTX for 8.x has no such instruction, whatever the device.
/// @param device_major of the device's compute capability
/// @param compiled_for ten times the compute capability
[[nodiscard]] constexpr bool can_use_clusters(int device_major, int compiled_for) {
    return device_major >= 9 && compiled_for >= 90;
}

/// The plan for a batch. Rule and edges, measured on an H200 with 8 KV heads; a row is the history
/// of one KV head of one sequence, of max_tokens tokens, and rows are few if they are no more than
/// there are SMs. KV heads go together where they divide the number of all; without clusters no row
/// is shared by thread blocks. In this order:
///   - up to 32 tokens: one warp for each row, nothing to merge, up to four KV heads together where
///     that leaves a thread block for nine SMs of ten;
///   - 2 to 4096 sequences from 16384 tokens on, with a workspace: a balanced launch;
///   - 64 bytes of fp8 for each token, so that two KV heads share a line of the cache, from 16384
///     tokens on, and of few rows beyond 4096: clusters of eight thread blocks of 8 warps, which
///     have four heads where the tokens are 16384 and that leaves a cluster for nine SMs of ten,
///     else two where that leaves eight clusters;
///   - few rows: a thread block of 8 warps for each. From 256 tokens on a cluster shares a row, as
///     far as all its thread blocks find SMs at once: all SMs in pairs, nine of ten in clusters of
///     four and eight. It stops where 64 thread blocks work, or from 1024 tokens of fp8 and beyond
///     1024 of others where all SMs do. A thread block has four tiles of 16 tokens at least, a warp
///     two, or one where that leaves fewer than four warps;
///   - few rows beyond 4096 tokens, where not even pairs find SMs at once: clusters of eight thread
///     blocks of four warps;
///   - more rows, up to 1024 tokens, or up to 4096 where there are no more than two for each SM:
///     four or two warps for each row, with two tiles at least, where all find room on the SMs at
///     once, eight on each; else one up to 256 tokens and four beyond. As many heads together as
///     make up 4 warps, or 8 where a row has one or there is no room, and leave a thread block for
///     nine SMs of ten;
///   - more rows of more tokens: thread blocks that have two KV heads, in clusters of four with two
///     warps for each head, from 4096 tokens on of eight, and from 16384 on of two with four warps
///     for each. Where lengths differ, the long ones end sooner; where they don't, up to 16 in 100
///     of the time are lost just beyond 1024 tokens in fp8, less with more tokens and in bf16.
/// Where a thread block can't have the shared memory for it, half the warps, and of several heads
/// half, until it can; a balanced launch that takes too much is none.
/// The lengths themselves may change under a captured graph: the plan only asks for their limit.
/// @throws std::invalid_argument for rows of fewer than 64 bytes or more than 512
[[nodiscard]] DecodePlan plan_decode(const DecodeLoad& load, const DecodeDevice& device);

/// Why paged_decode doesn't take these parameters, naming the value and its limit; nothing if it
/// does. Looks at sizes, strides, alignment and which rules there are.
[[nodiscard]] std::optional<std::string> reason_not_to_decode(const PagedAttentionParams& params);

}  // namespace nanoserve
