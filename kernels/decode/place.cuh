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

/// Which part of the work a warp has. blockIdx = (KV heads and split, the split fastest; sequence):
/// the splits of some heads of a sequence are one cluster.
struct DecodePlace {
    std::int64_t seq;
    int split;          ///< of the history
    int warp;           ///< in the thread block
    int head_in_block;  ///< KV head
    int warp_of_head;   ///< among the warps that share this head
    int sharers_log2;   ///< how many those are
    int kv_head;

    __device__ explicit DecodePlace(const DecodeArgs& args) {
        const unsigned head_block = blockIdx.x >> args.splits_log2;
        const unsigned warp_index = threadIdx.x / kWarpSize;
        seq = blockIdx.y + std::int64_t{blockIdx.z} * gridDim.y;
        split = static_cast<int>(blockIdx.x & ((1u << args.splits_log2) - 1));
        warp = static_cast<int>(warp_index);
        head_in_block = static_cast<int>(warp_index & ((1u << args.heads_log2) - 1));
        warp_of_head = static_cast<int>(warp_index >> args.heads_log2);
        sharers_log2 = args.warps_log2 - args.heads_log2;
        kv_head = static_cast<int>(head_block << args.heads_log2) + head_in_block;
    }

    /// The first row of out, and of lse, that belongs to this warp's KV head.
    [[nodiscard]] __device__ std::int64_t first_row(const DecodeArgs& args) const {
        return seq * args.num_q_heads + kv_head * args.group_size;
    }
};

/// The tiles that one warp reads: every 2^stride_log2-th of its sequence from `first` on. All warps
/// of all splits take turns, so that they end together.
struct TileWalk {
    int first;
    int stride_log2;

    __device__ TileWalk(const DecodeArgs& args, const DecodePlace& place)
        : first((place.split << place.sharers_log2) + place.warp_of_head),
          stride_log2(args.splits_log2 + place.sharers_log2) {
        ptx::keep(first);
        ptx::keep(stride_log2);
    }

    [[nodiscard]] __device__ int tile(int i) const { return first + (i << stride_log2); }
    [[nodiscard]] __device__ int num_tiles(int seq_len) const {
        const int all = static_cast<int>((static_cast<unsigned>(seq_len) + 15) / 16);
        return max(0, (all - first + (1 << stride_log2) - 1) >> stride_log2);
    }
};

}  // namespace nanoserve
