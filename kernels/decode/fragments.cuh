// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kernels/decode/config.hpp>
#include <kernels/decode/partial_layout.hpp>

#include <kernels/decode/place.cuh>
#include <kernels/decode/ptx.cuh>
#include <kernels/decode/warp_attention.cuh>

// Partial results and their merge. The unit is a fragment: what the lanes of a warp hold of one
// product, 16 elements of up to 8 query heads. It is stored as it lies in the registers, an entry
// of four floats for each lane; those whose heads exist are merged and pushed. Nothing is
// transposed, and each thread merges an entry of its own. With short histories a merge takes as
// long as the tiles before it, and its time is the number of its instructions: sizes and offsets
// that all threads share are worked out on the host (DecodeArgs).

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
/// `scale`, and the others `stride` bytes further on each. load(address) reads a float4.
template <int kCount, class Address, class Load>
__device__ Partial merge_parts(Address out, Address scale, int stride, Load load) {
    float4 scales[kCount], outs[kCount];
#pragma unroll
    for (int i = 0; i < kCount; ++i) {  // all loads are under way together
        scales[i] = load(scale + i * stride);
        outs[i] = load(out + i * stride);
    }
    Partial all;
    all.max = {scales[0].x, scales[0].y};
#pragma unroll
    for (int i = 1; i < kCount; ++i) {
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

/// The same for 2^count_log2 parts in shared memory, 1 to 8: in a loop of unknown length the loads
/// would wait for one another.
__device__ inline Partial merge_parts(int count_log2, std::uint32_t out, std::uint32_t scale,
                                      int stride) {
    if (count_log2 == 3) {
        return merge_parts<8>(out, scale, stride, ptx::load_shared);
    }
    if (count_log2 == 2) {
        return merge_parts<4>(out, scale, stride, ptx::load_shared);
    }
    if (count_log2 == 1) {
        return merge_parts<2>(out, scale, stride, ptx::load_shared);
    }
    return merge_parts<1>(out, scale, stride, ptx::load_shared);
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

/// What a warp leaves in its ring, and what a slot of a balanced launch's workspace holds: a
/// FragmentSet for each tile of heads. Offsets in bytes.
template <class Config>
struct WarpPartial {
    using Set = FragmentSet<Config::kSteps>;
    static constexpr int kBytes = Config::kHeadTiles * Set::kBytes;

    /// The set of a fragment that counts through all of them.
    __device__ static constexpr unsigned tile(unsigned fragment) {
        return Config::kHeadTiles == 1 ? 0 : fragment / Config::kSteps;
    }
    __device__ static constexpr unsigned entry(const FragmentEntry& at) {
        const unsigned t = tile(at.fragment);
        return t * Set::kBytes + Set::entry(at.fragment - t * Config::kSteps, at.lane);
    }
    __device__ static constexpr unsigned scale(const FragmentEntry& at) {
        return tile(at.fragment) * Set::kBytes + Set::scale(at.pair());
    }
};

/// Leaves all that a warp has at an address in shared memory.
template <class Config>
__device__ void store_partials(const WarpAttention<Config>& attention, std::uint32_t to) {
    using Partials = WarpPartial<Config>;
    const unsigned lane = lane_index();
    const std::uint32_t first = to + Partials::entry({0, lane});
#pragma unroll
    for (unsigned tile = 0; tile < Config::kHeadTiles; ++tile) {
#pragma unroll
        for (unsigned step = 0; step < Config::kSteps; ++step) {
            ptx::store_shared(first + Partials::entry({tile * Config::kSteps + step, 0}),
                              attention.out(tile, step));
        }
        if (lane < 4) {
            const float2 max = attention.max(tile), sum = attention.sum(tile);
            ptx::store_shared(to + Partials::scale({tile * Config::kSteps, lane}),
                              make_float4(max.x, max.y, sum.x, sum.y));
        }
    }
}

/// Merges what the warps of each head have left in their rings and hands every entry to a sink:
/// sink(FragmentEntry, Partial).
template <class Config, class Sink>
__device__ void merge_warps(const DecodeArgs& args, const DecodePlace& place, std::uint32_t memory,
                            Sink sink) {
    using Partials = WarpPartial<Config>;
    const LiveEntries entries = {args.pairs_log2};
    const std::uint32_t of_head = memory + place.head_in_block * args.memory.ring_bytes;
    const int stride = args.memory.ring_bytes << place.heads_log2;
#pragma unroll 1
    for (unsigned i = place.warp_of_head * kWarpSize + lane_index();
         i < entries.count(Config::kFragments); i += kWarpSize << place.sharers_log2) {
        const FragmentEntry at = entries[i];
        sink(at, merge_parts(place.sharers_log2, of_head + Partials::entry(at),
                             of_head + Partials::scale(at), stride));
    }
}

/// Writes a merged entry of a group's output: the elements of two heads, and their lse where they
/// are the first of them.
template <class Config>
__device__ void write_entry(const DecodeArgs& args, QueryGroup group, const FragmentEntry& at,
                            const Partial& all) {
    using T = typename Config::T;
    const unsigned tile = WarpPartial<Config>::tile(at.fragment);
    const int step = static_cast<int>(at.fragment - tile * Config::kSteps);
    const int head = static_cast<int>(8 * tile + 2 * at.pair());
    const float* sinks = group.sinks<Config>(args);
    const SoftmaxEnd ends[2] = {
        end_of_softmax(all.max.x, all.sum.x, sinks, head, args.group_size),
        end_of_softmax(all.max.y, all.sum.y, sinks, head + 1, args.group_size)};
    const std::uint32_t words[2] = {
        ptx::pack<T>(all.out.x * ends[0].factor, all.out.z * ends[0].factor),
        ptx::pack<T>(all.out.y * ends[1].factor, all.out.w * ends[1].factor)};
    const std::int64_t first_row = group.first_row(args) + head;
    T* out = static_cast<T*>(args.out) + first_row * Config::kHeadDim +
             WarpAttention<Config>::element(step, static_cast<int>(at.row()), 0);
#pragma unroll
    for (int i = 0; i < 2; ++i) {
        if (head + i < args.group_size) {
            T* to = out + i * Config::kHeadDim;
            if constexpr (Config::kIsFp8) {  // neighbours
                *reinterpret_cast<std::uint32_t*>(to) = words[i];
            } else {
                constexpr int kApart = WarpAttention<Config>::element(0, 0, 1);
                to[0] = T{static_cast<std::uint16_t>(words[i])};
                to[kApart] = T{static_cast<std::uint16_t>(words[i] >> 16)};
            }
        }
    }
    if (args.lse != nullptr && step == 0 && at.row() == 0) {
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            if (head + i < args.group_size) {
                args.lse[first_row + i] = ends[i].lse();
            }
        }
    }
}

/// The sink of merge_warps that writes a group's output.
template <class Config>
__device__ auto output_of(const DecodeArgs& args, QueryGroup group) {
    return [=, &args](const FragmentEntry& at, const Partial& all) {
        write_entry<Config>(args, group, at, all);
    };
}

/// The fragments that a thread block of a cluster merges; 0 where there are more thread blocks than
/// fragments. Fragment f belongs to thread block f % num_splits.
template <class Config>
__device__ int owned_fragments(const DecodeArgs& args, int split) {
    return ((Config::kFragments << args.heads_log2) - split + (1 << args.splits_log2) - 1) >>
           args.splits_log2;
}

/// Prepares the barrier of the pushes; one thread calls it, before the cluster's first barrier.
template <class Config>
__device__ void expect_pushes(const DecodeArgs& args, int split, std::uint32_t memory) {
    const int fragment_bytes = static_cast<int>(LiveEntries{args.pairs_log2}.bytes());
    ptx::prepare_barrier(memory + args.memory.barrier,
                         owned_fragments<Config>(args, split) * fragment_bytes << args.splits_log2);
}

/// Pushes an entry of a group into the thread block that owns its fragment.
template <class Config>
__device__ void push_entry(const DecodeArgs& args, const DecodePlace& place, std::uint32_t memory,
                           const FragmentEntry& at, const Partial& all) {
    const unsigned fragment = place.head_in_block * Config::kFragments + at.fragment;
    const unsigned owner = fragment & ((1u << args.splits_log2) - 1);
    const unsigned slot = fragment >> args.splits_log2;
    const std::uint32_t there = ptx::address_at(memory, owner);
    const std::uint32_t barrier = there + args.memory.barrier;
    const std::uint32_t to = there + args.memory.pushed + place.split * args.memory.pushed_bytes +
                             slot * PushedFragment::kBytes;
    ptx::push(to + PushedFragment::entry(0, at.lane), all.out, barrier);
    if (at.row() == 0) {
        ptx::push(to + PushedFragment::scale(at.pair()), all.scale(), barrier);
    }
}

/// Merges and writes the fragments that this thread block owns, once all have been pushed.
template <class Config>
__device__ void merge_pushed(const DecodeArgs& args, const DecodePlace& place,
                             std::uint32_t memory) {
    const LiveEntries entries = {args.pairs_log2};
    const auto owned = static_cast<unsigned>(owned_fragments<Config>(args, place.split));
#pragma unroll 1
    for (unsigned i = threadIdx.x; i < entries.count(owned); i += blockDim.x) {
        const auto [slot, lane] = entries[i];
        const unsigned index = (slot << args.splits_log2) + place.split;
        const FragmentEntry at = {index % Config::kFragments, lane};
        const int head = place.first_head() + static_cast<int>(index / Config::kFragments);
        const std::uint32_t pushed = memory + args.memory.pushed + slot * PushedFragment::kBytes;
        write_entry<Config>(
            args, {place.seq, head}, at,
            merge_parts(args.splits_log2, pushed + PushedFragment::entry(0, lane),
                        pushed + PushedFragment::scale(at.pair()), args.memory.pushed_bytes));
    }
}

}  // namespace nanoserve
