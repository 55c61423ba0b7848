// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kernels/decode/config.hpp>
#include <kernels/decode/fragment_layout.hpp>

#include <kernels/decode/place.cuh>
#include <kernels/decode/ptx.cuh>
#include <kernels/decode/warp_attention.cuh>

// Partial results and their merge. The unit is a fragment: what the lanes of a warp hold of one
// product, 16 elements of up to 8 query heads. It is stored, pushed and merged as it lies in the
// registers, an entry of four floats for each lane whose heads exist: nothing is transposed, and
// each thread merges an entry of its own.

namespace nanoserve {

/// One entry: out[i] belongs to the head i % 2 of its pair, not yet divided; of both heads the
/// maximum, in units of ln 2, and the sum of weights.
struct Partial {
    float4 out = {0.0f, 0.0f, 0.0f, 0.0f};
    float2 max = {-INFINITY, -INFINITY};
    float2 sum = {0.0f, 0.0f};

    [[nodiscard]] __device__ float4 scale() const {
        return make_float4(max.x, max.y, sum.x, sum.y);
    }
};

/// Adds up kCount partial results of an entry, always in the same order: those at `out` and
/// `scale`, and the others `stride` bytes further on each. load(pointer) reads a float4.
template <int kCount, class Load>
__device__ Partial merge_parts(const float4* out, const float4* scale, int stride, Load load) {
    const char* out_bytes = reinterpret_cast<const char*>(out);
    const char* scale_bytes = reinterpret_cast<const char*>(scale);
    float4 scales[kCount], outs[kCount];
#pragma unroll
    for (int i = 0; i < kCount; ++i) {  // all loads are under way together
        scales[i] = load(reinterpret_cast<const float4*>(scale_bytes));
        outs[i] = load(reinterpret_cast<const float4*>(out_bytes));
        scale_bytes += stride;
        out_bytes += stride;
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

/// The same for 2^count_log2 parts, 1 to 8: in a loop of unknown length the loads would wait for
/// one another.
template <class Load>
__device__ Partial merge_parts(int count_log2, const float4* out, const float4* scale, int stride,
                               Load load) {
    if (count_log2 == 3) {
        return merge_parts<8>(out, scale, stride, load);
    }
    if (count_log2 == 2) {
        return merge_parts<4>(out, scale, stride, load);
    }
    if (count_log2 == 1) {
        return merge_parts<2>(out, scale, stride, load);
    }
    return merge_parts<1>(out, scale, stride, load);
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
/// results; behind them, where a history is split, what the thread blocks of the cluster push here,
/// and the barrier that counts its bytes. Fragment f of a thread block belongs to thread block f %
/// num_splits.
template <class Config>
struct DecodeMemory {
    unsigned char* memory;
    FragmentLayout layout;
    int ring_bytes;  // of one warp
    int num_warps;
    int num_fragments;  // of all KV heads of the thread block
    int splits_log2;

    /// The fragments that a thread block owns, at most.
    __host__ __device__ int slots() const {
        return (num_fragments + (1 << splits_log2) - 1) >> splits_log2;
    }
    __host__ __device__ int pushed_bytes() const {
        return splits_log2 == 0 ? 0 : (slots() << splits_log2) * layout.bytes();
    }
    __host__ __device__ int bytes() const {
        return num_warps * ring_bytes + pushed_bytes() + (splits_log2 == 0 ? 0 : 16);
    }

    __device__ std::uint32_t ring(int warp) const {
        return ptx::shared_address(memory) + static_cast<std::uint32_t>(warp * ring_bytes);
    }
    /// [Config::kFragments] that a warp leaves in its ring
    __device__ float4* partials(int warp) const {
        return reinterpret_cast<float4*>(memory + warp * ring_bytes);
    }
    /// [slots] that thread block `split` pushes
    __device__ float4* pushed(int split) const {
        return reinterpret_cast<float4*>(memory + num_warps * ring_bytes) +
               split * slots() * layout.size();
    }
    /// Opens when everything has been pushed here.
    __device__ std::uint32_t barrier() const {
        return ptx::shared_address(memory) +
               static_cast<std::uint32_t>(num_warps * ring_bytes + pushed_bytes());
    }
};

struct LoadShared {
    __device__ float4 operator()(const float4* from) const { return *from; }
};

/// Leaves all that a warp has in its ring.
template <class Config>
__device__ void store_partials(const WarpAttention<Config>& attention, FragmentLayout layout,
                               float4* to) {
    const int lane = static_cast<int>(lane_index());
    const int pair = lane % 4;
    float4* entry = to + (lane / 4 << layout.pairs_log2) + pair;
    float4* scale = to + layout.scale(pair);
    const bool exists = pair < 1 << layout.pairs_log2;
#pragma unroll
    for (int tile = 0; tile < Config::kHeadTiles; ++tile) {
        const float2 max = attention.max(tile), sum = attention.sum(tile);
#pragma unroll
        for (int step = 0; step < Config::kSteps; ++step) {
            if (exists) {
                *entry = attention.out(tile, step);
            }
            if (exists && lane < 4) {
                *scale = make_float4(max.x, max.y, sum.x, sum.y);
            }
            entry += layout.size();
            scale += layout.size();
        }
    }
}

/// Merges what the warps of each head have left in their rings and hands every entry to a sink:
/// sink(fragment of the group, entry, Partial).
template <class Config, class Sink>
__device__ void merge_warps(const DecodePlace& place, const DecodeMemory<Config>& shared,
                            Sink sink) {
    const FragmentLayout layout = shared.layout;
    const float4* of_head = shared.partials(place.head_in_block);
    const int stride = shared.ring_bytes << place.heads_log2;
#pragma unroll 1
    for (int i = place.warp_of_head * kWarpSize + static_cast<int>(lane_index());
         i < Config::kFragments << layout.entries_log2(); i += kWarpSize << place.sharers_log2) {
        const int fragment = i >> layout.entries_log2();
        const int entry = i & ((1 << layout.entries_log2()) - 1);
        const float4* part = of_head + fragment * layout.size();
        sink(fragment, entry,
             merge_parts(place.sharers_log2, part + entry, part + layout.scale(layout.pair(entry)),
                         stride, LoadShared{}));
    }
}

/// Writes a merged entry of a group's output.
template <class Config>
__device__ void write_entry(const DecodeArgs& args, FragmentLayout layout, QueryGroup group,
                            int fragment, int entry, const Partial& all) {
    using T = typename Config::T;
    const int tile = fragment / Config::kSteps;
    const int step = fragment % Config::kSteps;
    const int row = layout.row(entry);
    const int head = 8 * tile + 2 * layout.pair(entry);
    const std::int64_t first_row = group.first_row(args);
    T* out = static_cast<T*>(args.out) + (first_row + head) * Config::kHeadDim;
    const auto write = [&](T* to, float low, float high, float max, float sum, int of_pair) {
        if (head + of_pair >= args.group_size) {
            return;
        }
        const SoftmaxEnd end =
            end_of_softmax(max, sum, group.sinks<Config>(args), head + of_pair, args.group_size);
        const std::uint32_t both = ptx::pack<T>(low * end.factor, high * end.factor);
        T* first = to + WarpAttention<Config>::element(step, row, 0);
        T* second = to + WarpAttention<Config>::element(step, row, 1);
        if constexpr (Config::kIsFp8) {  // neighbours
            *reinterpret_cast<std::uint32_t*>(first) = both;
        } else {
            *first = T{static_cast<std::uint16_t>(both)};
            *second = T{static_cast<std::uint16_t>(both >> 16)};
        }
        if (args.lse != nullptr && step == 0 && row == 0) {
            args.lse[first_row + head + of_pair] = end.lse();
        }
    };
    write(out, all.out.x, all.out.z, all.max.x, all.sum.x, 0);
    write(out + Config::kHeadDim, all.out.y, all.out.w, all.max.y, all.sum.y, 1);
}

/// Prepares the barrier of the pushes; one thread calls it, before the cluster's first barrier.
template <class Config>
__device__ void expect_pushes(const DecodeMemory<Config>& shared, int split) {
    const int owned = (shared.num_fragments - split + (1 << shared.splits_log2) - 1) >>
                      shared.splits_log2;  // 0 where there are more thread blocks than fragments
    ptx::prepare_barrier(shared.barrier(), max(owned, 0) * shared.layout.bytes()
                                               << shared.splits_log2);
}

/// Pushes an entry into the thread block that owns its fragment.
template <class Config>
__device__ void push_entry(const DecodePlace& place, const DecodeMemory<Config>& shared,
                           int fragment, int entry, const Partial& all) {
    const FragmentLayout layout = shared.layout;
    const int index = place.head_in_block * Config::kFragments + fragment;
    const int owner = index & ((1 << shared.splits_log2) - 1);
    float4* to = shared.pushed(place.split) + (index >> shared.splits_log2) * layout.size();
    const std::uint32_t barrier = ptx::address_at(shared.barrier(), owner);
    ptx::push(ptx::address_at(ptx::shared_address(to + entry), owner), all.out, barrier);
    if (layout.row(entry) == 0) {
        const float4* scale = to + layout.scale(layout.pair(entry));
        ptx::push(ptx::address_at(ptx::shared_address(scale), owner), all.scale(), barrier);
    }
}

/// Merges and writes the fragments that this thread block owns, once all have been pushed.
template <class Config>
__device__ void merge_pushed(const DecodeArgs& args, const DecodePlace& place,
                             const DecodeMemory<Config>& shared) {
    const FragmentLayout layout = shared.layout;
    const int first_head = place.kv_head - place.head_in_block;  // of the thread block
    const int stride = shared.slots() * layout.bytes();
#pragma unroll 1
    for (int i = static_cast<int>(threadIdx.x); i < shared.slots() << layout.entries_log2();
         i += static_cast<int>(blockDim.x)) {
        const int slot = i >> layout.entries_log2();
        const int entry = i & ((1 << layout.entries_log2()) - 1);
        const int index = (slot << args.splits_log2) + place.split;
        if (index < shared.num_fragments) {
            const float4* part = shared.pushed(0) + slot * layout.size();
            const Partial all =
                merge_parts(args.splits_log2, part + entry, part + layout.scale(layout.pair(entry)),
                            stride, LoadShared{});
            const QueryGroup group = {place.seq, first_head + index / Config::kFragments};
            write_entry<Config>(args, layout, group, index % Config::kFragments, entry, all);
        }
    }
}

}  // namespace nanoserve
