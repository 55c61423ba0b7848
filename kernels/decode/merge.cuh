// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kernels/decode/config.hpp>

#include <kernels/decode/place.cuh>
#include <kernels/decode/ptx.cuh>
#include <kernels/decode/warp_attention.cuh>

namespace nanoserve {

/// The shared memory of a thread block: the warps' rings, in which they later leave their partial
/// results; behind them, where a history is split, what the thread blocks of the cluster push here.
/// Each of them merges some elements of the output: 32 neighbouring ones, then those 32 *
/// num_splits further on.
template <class Config>
struct DecodeShared {
    unsigned char* memory;
    int num_warps;
    int num_rows;  // of the output, that this thread block works on
    int splits_log2;

    static constexpr int kRun = kWarpSize;  // neighbouring elements with the same owner

    __host__ __device__ int ring_bytes() const { return num_warps * Config::kRingBytes; }
    __host__ __device__ int owned_elements() const {  // rounded up to whole runs
        const int round = kRun << splits_log2;
        return (num_rows * Config::kHeadDim + round - 1) / round * kRun;
    }
    __host__ __device__ int bytes() const {
        const int of_split = owned_elements() * 4 + num_rows * 8;
        return ring_bytes() + (splits_log2 == 0 ? 0 : of_split << splits_log2);
    }

    /// [kGroupSlots][kPartialPitch]
    __device__ float* out(int warp) const {
        return reinterpret_cast<float*>(memory + warp * Config::kRingBytes);
    }
    /// [kGroupSlots]
    __device__ float2* max_and_sum(int warp) const {
        return reinterpret_cast<float2*>(out(warp) + Config::kGroupSlots * Config::kPartialPitch);
    }
    /// [owned_elements]
    __device__ float* pushed_out(int split) const {
        return reinterpret_cast<float*>(memory + ring_bytes()) + split * owned_elements();
    }
    /// [num_rows]
    __device__ float2* pushed_max_and_sum(int split) const {
        return reinterpret_cast<float2*>(pushed_out(1 << splits_log2)) + split * num_rows;
    }
};

/// One element of the output, not yet divided; the maximum in units of ln 2.
struct PartialElement {
    float max = -INFINITY;
    float sum = 0.0f;
    float out = 0.0f;
};

/// Adds up `count` partial results, at most 8, always in the same order. max_and_sum(i) and out(i)
/// fetch those of part i; a part without tokens has -infinity and 0.
template <class MaxAndSum, class Out>
__device__ PartialElement merge_parts(int count, MaxAndSum max_and_sum, Out out) {
    constexpr int kMaxParts = 8;
    float2 scales[kMaxParts];
    float outs[kMaxParts];
    PartialElement all;
#pragma unroll
    for (int i = 0; i < kMaxParts; ++i) {  // all loads are under way together
        scales[i] = i < count ? max_and_sum(i) : make_float2(-INFINITY, 0.0f);
        outs[i] = i < count ? out(i) : 0.0f;
        all.max = fmaxf(all.max, scales[i].x);
    }
    const float reference = all.max == -INFINITY ? 0.0f : all.max;
#pragma unroll
    for (int i = 0; i < kMaxParts; ++i) {
        const float factor = ptx::exp2(scales[i].x - reference);
        all.sum += factor * scales[i].y;
        all.out += factor * outs[i];
    }
    return all;
}

template <class Config>
__device__ void write_element(const DecodeArgs& args, std::int64_t row, int element,
                              const PartialElement& all) {
    using T = typename Config::T;
    const float out = all.sum > 0.0f ? all.out * ptx::reciprocal(all.sum) : 0.0f;
    static_cast<T*>(args.out)[row * Config::kHeadDim + element] =
        T{static_cast<std::uint16_t>(ptx::pack<T>(out, 0.0f))};
    if (args.lse != nullptr && element == 0) {
        args.lse[row] = natural_lse(all.max, all.sum);
    }
}

/// Merges what the warps of each head have left and hands each element to a sink: sink(slot,
/// element, partial element), slot being the query head in the group.
template <class Config, class Sink>
__device__ void merge_warps(const DecodeArgs& args, const DecodePlace& place,
                            const DecodeShared<Config>& shared, Sink sink) {
#pragma unroll 1
    for (int i = place.warp_of_head * kWarpSize + static_cast<int>(lane_index());
         i < args.group_size * Config::kHeadDim; i += kWarpSize << place.sharers_log2) {
        const int slot = i / Config::kHeadDim;
        const int element = i % Config::kHeadDim;
        const auto sharer = [&](int part) {
            return (part << place.heads_log2) + place.head_in_block;
        };
        sink(slot, element,
             merge_parts(
                 1 << place.sharers_log2,
                 [&](int part) { return shared.max_and_sum(sharer(part))[slot]; },
                 [&](int part) {
                     return shared.out(sharer(part))[slot * Config::kPartialPitch + element];
                 }));
    }
}

/// Pushes an element into the thread block of the cluster that owns it, and its scale into all.
template <class Config>
__device__ void push_element(const DecodeArgs& args, const DecodePlace& place,
                             const DecodeShared<Config>& shared, int slot, int element,
                             const PartialElement& all) {
    const int num_splits = 1 << args.splits_log2;
    const int row = place.head_in_block * args.group_size + slot;  // in the thread block
    const int run = (row * Config::kHeadDim + element) / shared.kRun;
    float* target = shared.pushed_out(place.split) + (run >> args.splits_log2) * shared.kRun +
                    element % shared.kRun;
    ptx::store_at(ptx::address_at(ptx::shared_address(target), run & (num_splits - 1)), all.out);
    if (element < num_splits) {
        float2* scale = shared.pushed_max_and_sum(place.split) + row;
        ptx::store_at(ptx::address_at(ptx::shared_address(scale), element),
                      make_float2(all.max, all.sum));
    }
}

/// Merges and writes the elements that this thread block owns, once all have been pushed.
template <class Config>
__device__ void merge_pushed(const DecodeArgs& args, const DecodePlace& place,
                             const DecodeShared<Config>& shared) {
    const std::int64_t first_row =
        place.first_row(args) - place.head_in_block * args.group_size;  // of the thread block
    const int owned_elements = shared.owned_elements();
#pragma unroll 1
    for (int i = static_cast<int>(threadIdx.x); i < owned_elements;
         i += static_cast<int>(blockDim.x)) {
        const int run = ((i / shared.kRun) << args.splits_log2) + place.split;
        const int index = run * shared.kRun + i % shared.kRun;
        const int row = index / Config::kHeadDim;
        if (row >= shared.num_rows) {
            return;
        }
        const PartialElement all = merge_parts(
            1 << args.splits_log2, [&](int part) { return shared.pushed_max_and_sum(part)[row]; },
            [&](int part) { return shared.pushed_out(part)[i]; });
        write_element<Config>(args, first_row + row, index % Config::kHeadDim, all);
    }
}

}  // namespace nanoserve
