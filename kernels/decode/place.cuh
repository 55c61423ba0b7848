// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kernels/decode/config.hpp>

#include <kernels/decode/ptx.cuh>

namespace nanoserve {

constexpr int kWarpSize = 32;

/// Unsigned, or the compiler rounds every quotient of it towards zero.
__device__ inline unsigned lane_index() {
    return threadIdx.x % kWarpSize;
}

/// The query heads of one KV head of a sequence.
struct QueryGroup {
    int seq;
    int kv_head;

    /// Its first row of out, and of lse.
    [[nodiscard]] __device__ std::int64_t first_row(const DecodeArgs& args) const {
        return std::int64_t{seq} * args.num_q_heads + kv_head * args.group_size;
    }
    /// [group_size], or nullptr
    template <class Config>
    [[nodiscard]] __device__ const float* sinks(const DecodeArgs& args) const {
        if constexpr (Config::kGeneral) {
            return args.sinks == nullptr ? nullptr : args.sinks + kv_head * args.group_size;
        }
        return nullptr;
    }
};

/// Which part of the work a warp has: its thread block has some KV heads of a sequence, each of
/// them one or more warps.
struct DecodePlace {
    int seq;
    int split;          ///< of the history
    int warp;           ///< in the thread block
    int heads_log2;     ///< how many KV heads the thread block has
    int sharers_log2;   ///< how many warps share one of them
    int head_in_block;  ///< KV head of this warp
    int warp_of_head;   ///< among the warps that share it
    int kv_head;

    __device__ DecodePlace(int sequence, unsigned head_block, int block_heads_log2, int warps_log2,
                           int block_split = 0)
        : seq(sequence),
          split(block_split),
          warp(static_cast<int>(threadIdx.x / kWarpSize)),
          heads_log2(block_heads_log2),
          sharers_log2(warps_log2 - block_heads_log2) {
        const unsigned warp_index = threadIdx.x / kWarpSize;
        head_in_block = static_cast<int>(warp_index & ((1u << heads_log2) - 1));
        warp_of_head = static_cast<int>(warp_index >> heads_log2);
        kv_head = static_cast<int>(head_block << heads_log2) + head_in_block;
        ptx::keep(warp);
        ptx::keep(head_in_block);
        ptx::keep(warp_of_head);
        ptx::keep(kv_head);
    }

    [[nodiscard]] __device__ QueryGroup group() const { return {seq, kv_head}; }
    /// KV head 0 of the thread block.
    [[nodiscard]] __device__ int first_head() const { return kv_head - head_in_block; }
};

/// A length as the caller gave it, no less than 0 and no more than the table has room for.
__device__ inline int clamp_length(const DecodeArgs& args, int given_length) {
    return min(max(given_length, 0), args.max_seq_len);
}

/// Tiles of 16 tokens that a length takes.
__device__ inline int tiles_of(int seq_len) {
    return static_cast<int>((static_cast<unsigned>(seq_len) + 15) / 16);
}

/// The tiles that one warp reads: every 2^stride_log2-th of its sequence from `first` on. Warps
/// that share a head take turns, so that they end together.
struct TileWalk {
    int first;
    int stride_log2;

    __device__ TileWalk(int first_tile, int stride) : first(first_tile), stride_log2(stride) {
        ptx::keep(first);
        ptx::keep(stride_log2);
    }
    /// The walk of a warp whose head is shared by all splits of its history.
    __device__ TileWalk(const DecodeArgs& args, const DecodePlace& place)
        : TileWalk((place.split << place.sharers_log2) + place.warp_of_head,
                   args.splits_log2 + place.sharers_log2) {}

    [[nodiscard]] __device__ int tile(int i) const { return first + (i << stride_log2); }
    /// How many of them come before tile `end`.
    [[nodiscard]] __device__ int num_tiles(int end) const {
        return max(0, (end - first + (1 << stride_log2) - 1) >> stride_log2);
    }
};

}  // namespace nanoserve
