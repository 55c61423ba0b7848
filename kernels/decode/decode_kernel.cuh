// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// The kernels of paged_decode: decode attention over a paged KV cache.
// Data     q, out [num_seqs, num_q_heads, head_dim] of T, bf16 or fp16; pools of T or of fp8 e4m3
//          with scales, and the strides of KVLayout; lse [num_seqs, num_q_heads] fp32
//          block_tables [num_seqs, max_blocks_per_seq], seq_lens [num_seqs] int32
// Work     a thread block has some KV heads of one sequence; each head has one or more of its
//          warps. A warp reads tiles of 16 tokens, taking turns with the warps that share its head
//          and with those of the other thread blocks of a cluster, where a history is split.
// Traffic  each K and V row once for all query heads of its group, 2 * seq_len * head_dim *
//          sizeof(element) bytes per KV head. A warp has up to kStages tiles on their way, an SM
//          with 8 warps 128 KB: Little's law asks for 33 KB, an H200 is fastest from 128 KB on.
// Steps    per warp: ask for kStages tiles → per tile: wait for it, score, weigh, add values
//          (warp_attention.cuh), ask for the next (kv_ring.cuh) →
//          store_partials; then merge_warps → merge_pushed (fragments.cuh). Before the merge warps
//          meet once, and only those of a cluster, while the first tiles are on their way. Balanced
//          launches: balance.cuh and schedule.hpp.
// Edges    no visible token: out = 0, lse = -inf. Rows behind the last token arrive as zeros and
//          their scores are masked. Blocks outside the pool are left out, lengths clamped. Blocks
//          of fewer than 16 tokens, and sliding windows: each row of a tile finds its own. A sink
//          joins a softmax at its end (sink.cuh).
// Tests    paged_decode_test.cpp, balanced_decode_test.cpp, overlapping_launch_test.cpp,
//          score_rules_gpu_test.cpp.
#pragma once

#include <kernels/decode/config.hpp>
#include <kernels/general/config.hpp>

#include <kernels/decode/balance.cuh>
#include <kernels/decode/fragments.cuh>
#include <kernels/decode/kv_ring.cuh>
#include <kernels/decode/place.cuh>
#include <kernels/decode/warp_attention.cuh>
#include <limits>
#include <type_traits>

namespace nanoserve {
namespace {

// sm_scale * log2 e, and what an element of K is worth.
template <class Config>
__device__ float score_scale(const DecodeArgs& args, int kv_head) {
    if constexpr (Config::kIsFp8) {
        return args.scale * args.scales.k.of_head(kv_head);
    } else {
        return args.scale;
    }
}

template <class Config>
__device__ void load_query(const DecodeArgs& args, int seq, int kv_head,
                           WarpAttention<Config>& attention) {
    attention.load_query(static_cast<const typename Config::T*>(args.q) + seq * args.q_stride +
                             std::int64_t{kv_head} * args.group_size * Config::kHeadDim,
                         args.group_size);
}

// The first token that a window leaves visible. Without one nobody waits for the length.
template <class Config>
__device__ int first_visible(const DecodeArgs& args, int given_length) {
    if constexpr (Config::kGeneral) {
        if (args.window > 0) {
            return max(0, clamp_length(args, given_length) - args.window);
        }
    }
    return 0;
}

template <class Config>
__device__ void store_output(const DecodeArgs& args, const DecodePlace& place,
                             const WarpAttention<Config>& attention) {
    const std::int64_t row = place.group().first_row(args);
    attention.store_output(static_cast<typename Config::T*>(args.out) + row * Config::kHeadDim,
                           args.lse == nullptr ? nullptr : args.lse + row,
                           place.group().sinks<Config>(args), args.group_size);
}

// What a warp has met, for the caller's status word.
template <class Config>
__device__ void report(const DecodeArgs& args, const KVRing<Config>& ring, bool is_clamped) {
    if (args.status != nullptr && lane_index() == 0 && (ring.saw_absent() || is_clamped)) {
        atomicOr(args.status,
                 (ring.saw_absent() ? kAbsentBlock : 0u) | (is_clamped ? kClampedLength : 0u));
    }
}

constexpr int kSequenceEnd = std::numeric_limits<int>::max();

// How the thread blocks of a cluster get to know that all have started, so that their memory can be
// written: each says so while its length and table are on their way, and waits for the others when
// its first tiles are.
template <class Config>
struct ClusterMeeting {
    const DecodeArgs& args;
    int split;
    std::uint32_t shared;  // of the thread block

    __device__ void announce() const {
        if (args.splits_log2 > 0) {
            if (threadIdx.x == 0) {
                expect_pushes<Config>(args, split, shared);
            }
            ptx::announce_to_cluster();
        }
    }
    __device__ void wait() const {
        if (args.splits_log2 > 0) {
            ptx::wait_for_cluster();
        }
    }
};
struct NoCluster {
    __device__ void announce() const {}
    __device__ void wait() const {}
};
struct NoLaterEnd {};

// Takes in the tiles of a few stages, from `stage` on, as far as there are tiles left and they are
// in the pool. num_tokens(i): what is left of the sequence from the i-th of them on.
template <class Config, class NumTokens>
__device__ void add_stages(const KVRing<Config>& ring, int stage, int tiles_left,
                           NumTokens num_tokens, float scale, WarpAttention<Config>& attention) {
    const auto tile = [&](int i) {
        return typename WarpAttention<Config>::Tile{ring.keys(stage + i),
                                                    ring.tokens(stage + i, num_tokens(i))};
    };
    const bool has_first = !ring.is_absent(stage);
    bool has_second = false;
    if constexpr (Config::kTilesTogether == 2) {
        has_second = tiles_left > 1 && !ring.is_absent(stage + 1);
        if (has_first && has_second) {
            attention.template add_tiles<2>({tile(0), tile(1)}, scale);
            return;
        }
    }
    if (has_first || has_second) {
        attention.template add_tiles<1>({tile(has_first ? 0 : 1)}, scale);
    }
}

// All tiles of one warp, in the walk before tile `end` and the end of the sequence; with a window
// the walk starts at the tile of the first visible token. later_end(tiles of the sequence) is asked
// for when the first stages are, which it must leave in.
template <class Config, class Meeting = NoCluster, class LaterEnd = NoLaterEnd>
__device__ void read_tiles(const DecodeArgs& args, int seq, int kv_head, TileWalk walk, int end,
                           std::uint32_t ring_memory, WarpAttention<Config>& attention,
                           Meeting meeting = {}, LaterEnd later_end = {}) {
    // Two loads that don't wait for each other: the length and the table.
    const int given_length = ptx::load(args.seq_lens + seq);
    const int first_token = first_visible<Config>(args, given_length);
    walk.first += first_token / Config::kTileTokens;
    BlockIds<Config> block_ids(args, seq, walk);
    KVRing<Config> ring(args, kv_head, ring_memory, first_token);
    meeting.announce();

    const float scale = score_scale<Config>(args, kv_head);
    const int seq_len = clamp_length(args, given_length);
    int num_tiles = walk.num_tiles(min(end, tiles_of(seq_len)));
    ptx::keep(num_tiles);
    const auto num_tokens = [&](int i) { return seq_len - 16 * walk.tile(i); };  // 16 or more: all
    const auto ask = [&](int i, int stage) {
        if (i < num_tiles) {
            ring.ask(block_ids[i], walk.tile(i), num_tokens(i), stage);
        }
        ptx::close_copy_group();
    };
    ask(0, 0);
    load_query(args, seq, kv_head, attention);  // no sooner than needed: beside the first tile
#pragma unroll
    for (int stage = 1; stage < Config::kStages; ++stage) {
        ask(stage, stage);
    }
    attention.convert_query();
    meeting.wait();
    if constexpr (!std::is_same_v<LaterEnd, NoLaterEnd>) {
        num_tiles = min(num_tiles, walk.num_tiles(later_end(tiles_of(seq_len))));
    }
    int stage = 0;
#pragma unroll 1
    for (int i = 0; i < num_tiles; i += Config::kTilesTogether) {
        ptx::wait_for_copies<Config::kStages - Config::kTilesTogether>();
        __syncwarp();  // the copies of all lanes are there
        add_stages<Config>(
            ring, stage, num_tiles - i, [&](int next) { return num_tokens(i + next); }, scale,
            attention);
        __syncwarp();  // no lane reads the stages any more
#pragma unroll
        for (int next = 0; next < Config::kTilesTogether; ++next) {
            ask(i + next + Config::kStages, stage + next);
        }
        stage += Config::kTilesTogether;
        stage = stage == Config::kStages ? 0 : stage;
    }
    if constexpr (Config::kIsFp8) {
        attention.scale_values(args.scales.v.of_head(kv_head));
    }
    report(args, ring, seq_len != given_length);
}

// The grid has rows of sequences, since it can't have all of them in y. Below 2^32.
__device__ inline unsigned sequence_of_block() {
    return blockIdx.z * gridDim.y + blockIdx.y;
}

//! [kernel]
// blockIdx = (KV heads and split, the split fastest; sequence): the splits of some heads of a
// sequence are one cluster.
template <class Config>
__global__ void __launch_bounds__(Config::kMaxThreads, Config::kBlocksPerSm)
    decode_kernel(const __grid_constant__ DecodeArgs args) {
    extern __shared__ __align__(1024) unsigned char memory[];
    const DecodePlace place(static_cast<int>(sequence_of_block()), blockIdx.x >> args.splits_log2,
                            args.heads_log2, args.warps_log2,
                            static_cast<int>(blockIdx.x & ((1u << args.splits_log2) - 1)));
    if (sequence_of_block() >= static_cast<unsigned>(args.num_seqs)) {
        return;  // the whole cluster
    }
    ptx::wait_for_previous_launch();
    std::uint32_t shared = ptx::shared_address(memory);
    ptx::keep(shared);
    const std::uint32_t ring = shared + place.warp * args.memory.ring_bytes;
    const bool is_split = args.splits_log2 > 0;
    WarpAttention<Config> attention;
    read_tiles(args, place.seq, place.kv_head, TileWalk(args, place), kSequenceEnd, ring, attention,
               ClusterMeeting<Config>{args, place.split, shared});
    ptx::let_next_launch_start();

    if (!is_split && place.sharers_log2 == 0) {
        store_output<Config>(args, place, attention);
        return;
    }
    store_partials(attention, ring);
    __syncthreads();  // the partial results of all warps visible
    if (!is_split) {
        merge_warps<Config>(args, place, shared, output_of<Config>(args, place.group()));
        return;
    }
    merge_warps<Config>(args, place, shared, [&](const FragmentEntry& at, const Partial& all) {
        push_entry<Config>(args, place, shared, at, all);
    });
    ptx::wait_for_pushes(shared + args.memory.barrier);
    merge_pushed<Config>(args, place, shared);
}
//! [kernel]

//! [one tile]
// Histories of one tile: a warp has all tokens of one KV head. blockIdx as above, without splits.
template <class Config>
__global__ void __launch_bounds__(Config::kMaxThreads, Config::kBlocksPerSm)
    decode_tile_kernel(const __grid_constant__ DecodeArgs args) {
    extern __shared__ __align__(1024) unsigned char memory[];
    const DecodePlace place(static_cast<int>(sequence_of_block()), blockIdx.x, args.heads_log2,
                            args.heads_log2);
    if (sequence_of_block() >= static_cast<unsigned>(args.num_seqs)) {
        return;
    }
    ptx::wait_for_previous_launch();
    const int given_length = ptx::load(args.seq_lens + place.seq);
    const BlockId id = first_block<Config>(args, place.seq);
    WarpAttention<Config> attention;
    load_query(args, place.seq, place.kv_head, attention);

    KVRing<Config> ring(
        args, place.kv_head,
        ptx::shared_address(memory) + static_cast<unsigned>(place.warp * Config::kStageBytes),
        first_visible<Config>(args, given_length));
    const int seq_len = clamp_length(args, given_length);
    if (seq_len > 0) {
        ring.ask(id, 0, seq_len, 0);
        ptx::close_copy_group();
        attention.convert_query();
        ptx::wait_for_copies<0>();
        __syncwarp();  // the copies of all lanes are there
        if (!ring.is_absent(0)) {
            attention.add_tile(ring.keys(0), ring.tokens(0, seq_len),
                               score_scale<Config>(args, place.kv_head));
        }
        if constexpr (Config::kIsFp8) {
            attention.scale_values(args.scales.v.of_head(place.kv_head));
        }
    }
    ptx::let_next_launch_start();
    report(args, ring, seq_len != given_length);
    store_output<Config>(args, place, attention);
}
//! [one tile]

// A thread block's own rows, one for each of its KV heads, as far as the schedule lets it read
// them.
template <class Config>
__device__ void read_own_rows(const DecodeArgs& args, std::uint32_t shared) {
    // What is asked for before a row's limit is known lies below it.
    static_assert(kSmallestOwnLimit >= Config::kMaxThreads / kWarpSize * Config::kStages);
    const unsigned blocks_per_seq = static_cast<unsigned>(args.num_kv_heads) >> args.heads_log2;
    const DecodePlace place(static_cast<int>(blockIdx.x / blocks_per_seq),
                            blockIdx.x % blocks_per_seq, args.heads_log2, args.warps_log2);
    const std::uint32_t ring = shared + place.warp * args.memory.ring_bytes;
    int limit = 0;
    bool has_tail = false;
    WarpAttention<Config> attention;
    read_tiles(args, place.seq, place.kv_head, TileWalk(args, place), kSequenceEnd, ring, attention,
               NoCluster{}, [&](int tiles) {
                   if (tail_tiles(tiles, kSmallestOwnLimit) > 0) {  // worth a look at all lengths
                       limit = own_limit_of(args);
                       has_tail = tail_tiles(tiles, limit) > 0;
                   }
                   return has_tail ? limit : tiles;
               });
    store_partials(attention, ring);
    __syncthreads();  // the partial results of all warps visible
    if (!has_tail) {
        merge_warps<Config>(args, place, shared, output_of<Config>(args, place.group()));
        return;
    }
    const std::int64_t slot = std::int64_t{place.seq} * args.num_kv_heads + place.kv_head;
    merge_warps<Config>(args, place, shared, workspace_of<Config>(args, slot));
    const Schedule schedule = schedule_of(args, limit);
    const int first_head = place.first_head();
    for (int head = first_head; head < first_head + (1 << args.heads_log2); ++head) {
        const RowTail tail = tail_of(args, schedule, place.seq, head);
        merge_if_last<Config>(args, RowParts(args, schedule, {place.seq, head}, tail));
    }
}

// The pieces in the range of one helper.
template <class Config>
__device__ void help(const DecodeArgs& args, int helper, std::uint32_t shared) {
    const Schedule schedule = schedule_of(args, own_limit_of(args));
    const int range_end = min((helper + 1) * schedule.helper_tiles, schedule.tail_tiles);
    TailSearch rows(args, schedule);
    for (int at = helper * schedule.helper_tiles; at < range_end;) {
        const TailRow row = rows.find(at);
        const TileRange tiles = piece_tiles(schedule, row.tail, at);
        at += tiles.end - tiles.begin;
        const DecodePlace place(row.seq, static_cast<unsigned>(row.kv_head), 0, args.warps_log2);
        const std::uint32_t ring = shared + place.warp * args.memory.ring_bytes;
        WarpAttention<Config> attention;
        read_tiles(args, row.seq, row.kv_head, TileWalk(tiles.begin + place.warp, args.warps_log2),
                   tiles.end, ring, attention);
        store_partials(attention, ring);
        __syncthreads();  // the partial results of all warps visible
        const std::int64_t slot =
            std::int64_t{args.num_seqs} * args.num_kv_heads + piece_slot(row.tail, helper);
        merge_warps<Config>(args, place, shared, workspace_of<Config>(args, slot));
        merge_if_last<Config>(args, RowParts(args, schedule, {row.seq, row.kv_head}, row.tail));
    }
}

// blockIdx.x: the thread blocks of all rows, then the helpers.
template <class Config>
__global__ void __launch_bounds__(Config::kMaxThreads, Config::kBlocksPerSm)
    balanced_decode_kernel(const __grid_constant__ DecodeArgs args) {
    extern __shared__ __align__(1024) unsigned char memory[];
    const unsigned num_owners = gridDim.x - static_cast<unsigned>(args.num_resident);
    const std::uint32_t shared = ptx::shared_address(memory);
    ptx::wait_for_previous_launch();
    if (blockIdx.x < num_owners) {
        read_own_rows<Config>(args, shared);
    } else {
        help<Config>(args, static_cast<int>(blockIdx.x - num_owners), shared);
    }
}

}  // namespace
}  // namespace nanoserve
