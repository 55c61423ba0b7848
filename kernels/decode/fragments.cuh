// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kernels/decode/config.hpp>

#include <kernels/decode/place.cuh>
#include <kernels/decode/ptx.cuh>
#include <kernels/decode/warp_attention.cuh>

// Partial results and their merge. The unit is a fragment: what the lanes of a warp hold of one
// product, 16 elements of 8 query heads. It is stored, pushed and merged as it lies in the
// registers, four floats for each lane, so nothing is transposed before the output is written.

namespace nanoserve {

/// What one lane holds of a fragment: out[i] belongs to head 2 * (lane % 4) + i % 2 of 8, not yet
/// divided; of both heads the maximum, in units of ln 2, and the sum of weights.
struct Partial {
    float4 out = {0.0f, 0.0f, 0.0f, 0.0f};
    float2 max = {-INFINITY, -INFINITY};
    float2 sum = {0.0f, 0.0f};
};

/// One fragment in memory, shared or global.
struct StoredFragment {
    float4 out[kWarpSize];  ///< [lane]
    float4 scale[4];        ///< [lane % 4]: max and max, sum and sum of both heads

    static constexpr int kBytes = (kWarpSize + 4) * 16;
};
static_assert(sizeof(StoredFragment) == StoredFragment::kBytes);

/// Stores this lane's part of a fragment.
__device__ inline void store_fragment(StoredFragment* to, const Partial& partial) {
    const unsigned lane = lane_index();
    to->out[lane] = partial.out;
    if (lane < 4) {
        to->scale[lane] = make_float4(partial.max.x, partial.max.y, partial.sum.x, partial.sum.y);
    }
}

/// The same into the shared memory of thread block `rank` of the cluster.
__device__ inline void push_fragment(StoredFragment* to, int rank, const Partial& partial) {
    const unsigned lane = lane_index();
    const std::uint32_t there = ptx::address_at(ptx::shared_address(to), rank);
    ptx::store_at(there + lane * 16, partial.out);
    if (lane < 4) {
        ptx::store_at(there + (kWarpSize + lane) * 16,
                      make_float4(partial.max.x, partial.max.y, partial.sum.x, partial.sum.y));
    }
}

/// Adds up kCount partial results of a fragment, always in the same order: `first`, and the others
/// `stride` bytes further on each. load(pointer) reads a float4.
template <int kCount, class Load>
__device__ Partial merge_parts(const StoredFragment* first, int stride, Load load) {
    const unsigned lane = lane_index();
    const char* scale = reinterpret_cast<const char*>(first->scale + lane % 4);
    const char* out = reinterpret_cast<const char*>(first->out + lane);
    float4 scales[kCount], outs[kCount];
#pragma unroll
    for (int i = 0; i < kCount; ++i) {  // all loads are under way together
        scales[i] = load(reinterpret_cast<const float4*>(scale));
        outs[i] = load(reinterpret_cast<const float4*>(out));
        scale += stride;
        out += stride;
    }
    Partial all;
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
        all.max.x = fmaxf(all.max.x, scales[i].x);
        all.max.y = fmaxf(all.max.y, scales[i].y);
    }
    const float reference_x = all.max.x == -INFINITY ? 0.0f : all.max.x;
    const float reference_y = all.max.y == -INFINITY ? 0.0f : all.max.y;
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
        const float x = ptx::exp2(scales[i].x - reference_x);
        const float y = ptx::exp2(scales[i].y - reference_y);
        all.sum.x += x * scales[i].z;
        all.sum.y += y * scales[i].w;
        all.out.x += x * outs[i].x;
        all.out.y += y * outs[i].y;
        all.out.z += x * outs[i].z;
        all.out.w += y * outs[i].w;
    }
    return all;
}

/// The same for 2^count_log2 parts, 1 to 8: a loop of unknown length would have its loads wait for
/// one another.
template <class Load>
__device__ Partial merge_parts(int count_log2, const StoredFragment* first, int stride, Load load) {
    switch (count_log2) {
        case 0:
            return merge_parts<1>(first, stride, load);
        case 1:
            return merge_parts<2>(first, stride, load);
        case 2:
            return merge_parts<4>(first, stride, load);
        default:
            return merge_parts<8>(first, stride, load);
    }
}

/// all += more.
__device__ inline void add_partial(Partial& all, const Partial& more) {
    const auto factors = [](float& max, float other, float& mine, float& others) {
        const float larger = fmaxf(max, other);
        const float reference = larger == -INFINITY ? 0.0f : larger;
        mine = ptx::exp2(max - reference);
        others = ptx::exp2(other - reference);
        max = larger;
    };
    float mine_x, others_x, mine_y, others_y;
    factors(all.max.x, more.max.x, mine_x, others_x);
    factors(all.max.y, more.max.y, mine_y, others_y);
    all.sum = {mine_x * all.sum.x + others_x * more.sum.x,
               mine_y * all.sum.y + others_y * more.sum.y};
    all.out = {
        mine_x * all.out.x + others_x * more.out.x, mine_y * all.out.y + others_y * more.out.y,
        mine_x * all.out.z + others_x * more.out.z, mine_y * all.out.w + others_y * more.out.w};
}

/// The shared memory of a thread block: the warps' rings, in which they later leave their partial
/// results; behind them, where a history is split, the fragments that the thread blocks of the
/// cluster push here. Fragment f of a thread block belongs to thread block f % num_splits.
template <class Config>
struct DecodeMemory {
    unsigned char* memory;
    int ring_bytes;  // of one warp
    int num_warps;
    int num_fragments;  // of all KV heads of the thread block
    int splits_log2;

    __host__ __device__ int owned_fragments() const {
        return (num_fragments + (1 << splits_log2) - 1) >> splits_log2;
    }
    __host__ __device__ int bytes() const {
        const int pushed =
            splits_log2 == 0 ? 0 : (owned_fragments() << splits_log2) * StoredFragment::kBytes;
        return num_warps * ring_bytes + pushed;
    }

    __device__ std::uint32_t ring(int warp) const {
        return ptx::shared_address(memory) + static_cast<std::uint32_t>(warp * ring_bytes);
    }
    /// [Config::kFragments] that a warp leaves in its ring
    __device__ StoredFragment* partials(int warp) const {
        return reinterpret_cast<StoredFragment*>(memory + warp * ring_bytes);
    }
    /// [owned_fragments] that thread block `split` pushes
    __device__ StoredFragment* pushed(int split) const {
        return reinterpret_cast<StoredFragment*>(memory + num_warps * ring_bytes) +
               split * owned_fragments();
    }
};

/// Leaves all that a warp has in its ring.
template <class Config>
__device__ void store_partials(const WarpAttention<Config>& attention, StoredFragment* to) {
#pragma unroll
    for (int tile = 0; tile < Config::kHeadTiles; ++tile) {
#pragma unroll
        for (int step = 0; step < Config::kSteps; ++step) {
            store_fragment(to + tile * Config::kSteps + step,
                           {attention.out(tile, step), attention.max(tile), attention.sum(tile)});
        }
    }
}

struct LoadShared {
    __device__ float4 operator()(const float4* from) const { return *from; }
};

/// Merges what the warps of each head have left in their rings and hands every fragment to a sink:
/// sink(fragment of the group, Partial), for all lanes of a warp together.
template <class Config, class Sink>
__device__ void merge_warps(const DecodePlace& place, const DecodeMemory<Config>& shared,
                            Sink sink) {
    const StoredFragment* of_head = shared.partials(place.head_in_block);
    const int stride = shared.ring_bytes << place.heads_log2;
#pragma unroll 1
    for (int fragment = place.warp_of_head; fragment < Config::kFragments;
         fragment += 1 << place.sharers_log2) {
        sink(fragment, merge_parts(place.sharers_log2, of_head + fragment, stride, LoadShared{}));
    }
}

/// Writes a merged fragment of the group whose rows start at `first_row` of out and lse.
template <class Config>
__device__ void write_fragment(const DecodeArgs& args, std::int64_t first_row, int fragment,
                               const Partial& all) {
    using T = typename Config::T;
    const int tile = fragment / Config::kSteps;
    const int step = fragment % Config::kSteps;
    const auto reciprocal = [](float sum) { return sum > 0.0f ? ptx::reciprocal(sum) : 0.0f; };
    const float x = reciprocal(all.sum.x), y = reciprocal(all.sum.y);
    const float out[4] = {all.out.x * x, all.out.y * y, all.out.z * x, all.out.w * y};
    WarpAttention<Config>::write_step(static_cast<T*>(args.out) + first_row * Config::kHeadDim,
                                      tile, step, out, args.group_size);
    if (args.lse != nullptr && step == 0) {
        WarpAttention<Config>::write_lse(args.lse + first_row, tile, all.max, all.sum,
                                         args.group_size);
    }
}

/// Merges and writes the fragments that this thread block owns, once all have been pushed.
template <class Config>
__device__ void merge_pushed(const DecodeArgs& args, const DecodePlace& place,
                             const DecodeMemory<Config>& shared) {
    const std::int64_t first_row =
        place.first_row(args) - place.head_in_block * args.group_size;  // of the thread block
#pragma unroll 1
    for (int slot = place.warp; slot < shared.owned_fragments(); slot += shared.num_warps) {
        const int index = (slot << args.splits_log2) + place.split;
        if (index < shared.num_fragments) {
            const Partial all =
                merge_parts(args.splits_log2, shared.pushed(0) + slot,
                            shared.owned_fragments() * StoredFragment::kBytes, LoadShared{});
            const int head = index / Config::kFragments;
            write_fragment<Config>(args, first_row + head * args.group_size,
                                   index % Config::kFragments, all);
        }
    }
}

}  // namespace nanoserve
