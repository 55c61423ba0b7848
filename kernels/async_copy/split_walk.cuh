// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanoserve/model/require.hpp>

#include <kernels/async_copy/config.hpp>
#include <kernels/async_copy/plan.hpp>
#include <kernels/cuda_error.hpp>
#include <kernels/decode/ring_order.hpp>
#include <kernels/general/config.hpp>
#include <kernels/shared_memory.hpp>
#include <kernels/split_kv/merge.hpp>
#include <kernels/split_kv/partials.hpp>

#include <algorithm>
#include <bit>
#include <kernels/decode/kv_ring.cuh>
#include <kernels/decode/place.cuh>
#include <kernels/decode/ptx.cuh>
#include <kernels/launch.cuh>

// What Days 24 and 25 have in common: warps that walk the tiles of split histories through rings of
// asynchronous copies, and a second launch that merges what they have summed. The days differ in
// the Body, one warp's arithmetic:
//   load_query(q, group_size)                       [group_size, head_dim]
//   add_tile(keys, num_tokens, scale)               16 rows of K in shared memory, V behind them
//   store_partial(out, max_and_sum, group_size)     to shared memory

namespace nanoserve {

/// One warp's tiles, as walk_ring asks for them and uses them.
template <class Config, class Body>
class WarpTiles {
  public:
    __device__ WarpTiles(const DecodeArgs& args, const DecodePlace& place, const TileWalk& walk,
                         int seq_len, std::uint32_t ring_memory, BlockIds<Config>& block_ids,
                         Body& body)
        : walk_(walk),
          seq_len_(seq_len),
          scale_(args.scale),
          block_ids_(block_ids),
          ring_(args, place.kv_head, ring_memory),
          body_(body) {}

    __device__ void ask(int i, int stage) {
        ring_.ask(block_ids_[i], walk_.tile(i), num_tokens(i), stage);
    }
    __device__ void close_group() { ptx::close_copy_group(); }

    template <int kGroups>
    __device__ void wait_for_all_but() {
        ptx::wait_for_copies<kGroups>();
        __syncwarp();  // the copies of all lanes are there
    }
    __device__ void use(int i, int stage) {
        if (!ring_.is_absent(stage)) {
            body_.add_tile(ring_.keys(stage), num_tokens(i), scale_);
        }
        __syncwarp();  // no lane reads the stage any more
    }

    [[nodiscard]] __device__ bool saw_absent() const { return ring_.saw_absent(); }

  private:
    // From this tile on: 16 or more means all.
    [[nodiscard]] __device__ int num_tokens(int i) const { return seq_len_ - 16 * walk_.tile(i); }

    TileWalk walk_;
    int seq_len_;
    float scale_;
    BlockIds<Config>& block_ids_;
    KVRing<Config> ring_;
    Body& body_;
};

/// All tiles of one warp.
template <class Config, class Body>
__device__ void read_tiles(const DecodeArgs& args, const DecodePlace& place,
                           std::uint32_t ring_memory, Body& body) {
    // Three loads that don't wait for each other: the length, the table, the query.
    const int given_length = __ldg(args.seq_lens + place.seq);
    const TileWalk walk(args, place);
    BlockIds<Config> block_ids(args, place.seq, walk);
    body.load_query(static_cast<const typename Config::T*>(args.q) + place.seq * args.q_stride +
                        std::int64_t{place.kv_head} * args.group_size * Config::kHeadDim,
                    args.group_size);

    const int seq_len = min(max(given_length, 0), args.max_seq_len);
    int num_tiles = walk.num_tiles(tiles_of(seq_len));
    ptx::keep(num_tiles);
    WarpTiles<Config, Body> tiles(args, place, walk, seq_len, ring_memory, block_ids, body);
    walk_ring<Config::kStages>(num_tiles, tiles);

    const bool clamped = seq_len != given_length;
    if (args.status != nullptr && lane_index() == 0 && (tiles.saw_absent() || clamped)) {
        atomicOr(args.status,
                 (tiles.saw_absent() ? kAbsentBlock : 0u) | (clamped ? kClampedLength : 0u));
    }
}

/// What a warp leaves in its ring: [kGroupSlots][kPartialPitch], not yet divided.
template <class Config>
__device__ float* partial_out(unsigned char* memory, int warp) {
    return reinterpret_cast<float*>(memory + warp * Config::kRingBytes);
}

/// Behind them the maximum, in units of ln 2, and the sum of weights: [kGroupSlots].
template <class Config>
__device__ float2* partial_scales(unsigned char* memory, int warp) {
    return reinterpret_cast<float2*>(partial_out<Config>(memory, warp) +
                                     Config::kGroupSlots * Config::kPartialPitch);
}

/// Merges what the warps of each head have left and stores it as one split's part.
template <class Config>
__device__ void merge_warps(const DecodeArgs& args, const DecodePlace& place, unsigned char* memory,
                            const Partials& partials) {
#pragma unroll 1
    for (int i = place.warp_of_head * kWarpSize + static_cast<int>(lane_index());
         i < args.group_size * Config::kHeadDim; i += kWarpSize << place.sharers_log2) {
        const int head = i / Config::kHeadDim;  // in the group
        const int element = i % Config::kHeadDim;
        const auto part = [&](int sharer) -> ElementSums {
            const int warp = (sharer << place.heads_log2) + place.head_in_block;
            const float2 scale = partial_scales<Config>(memory, warp)[head];
            const float* out = partial_out<Config>(memory, warp) + head * Config::kPartialPitch;
            return {.max = told_max(scale.x, scale.y), .sum = scale.y, .out = out[element]};
        };
        partials.store(place.group().first_row(args) + head, place.split, element,
                       merge_parts(1 << place.sharers_log2, part));
    }
}

//! [kernel]
// blockIdx.x is KV heads and split, the split fastest, blockIdx.y and z the sequence; a warp has
// one KV head. Needs blockDim.x == 32 << args.warps_log2 and that many rings of shared memory.
template <class Config, class Body>
__global__ void __launch_bounds__(Config::kMaxThreads, 1)
    split_walk_kernel(const __grid_constant__ DecodeArgs args,
                      const __grid_constant__ Partials partials) {
    extern __shared__ __align__(1024) unsigned char memory[];
    const unsigned split_mask = (1u << args.splits_log2) - 1;
    const DecodePlace place(blockIdx.y + std::int64_t{blockIdx.z} * gridDim.y,
                            blockIdx.x >> args.splits_log2, args.heads_log2, args.warps_log2,
                            static_cast<int>(blockIdx.x & split_mask));
    if (place.seq >= args.num_seqs) {
        return;  // the whole thread block
    }
    Body body;
    read_tiles<Config>(
        args, place,
        ptx::shared_address(memory) + static_cast<std::uint32_t>(place.warp) * Config::kRingBytes,
        body);

    body.store_partial(partial_out<Config>(memory, place.warp),
                       partial_scales<Config>(memory, place.warp), args.group_size);
    __syncthreads();  // the partial results of all warps visible
    merge_warps<Config>(args, place, memory, partials);
}
//! [kernel]

inline DecodeArgs split_walk_args(const PagedAttentionParams& params, const AsyncCopyPlan& plan,
                                  std::uint32_t* status) {
    const PagedAttentionArgs checked = make_paged_attention_args(params, status);
    const KVLayout& layout = params.kv.layout;
    const std::int64_t bytes = bytes_of(layout.dtype);
    const auto log2_of = [](std::int32_t power) {
        return std::countr_zero(static_cast<unsigned>(power));
    };
    DecodeArgs args = {};  // the second launch writes out and lse
    args.k_cache = static_cast<const char*>(params.kv.k_cache);
    args.v_cache = static_cast<const char*>(params.kv.v_cache);
    args.q = params.q;
    args.block_tables = params.block_tables;
    args.seq_lens = params.seq_lens;
    args.status = status;
    args.q_stride = checked.q_stride;
    args.block_bytes = static_cast<std::uint32_t>(layout.block_stride * bytes);
    args.head_bytes = static_cast<std::uint32_t>(layout.head_stride * bytes);
    args.token_bytes = static_cast<std::uint32_t>(layout.token_stride * bytes);
    args.max_blocks_per_seq = static_cast<std::int32_t>(params.max_blocks_per_seq);
    args.max_seq_len = static_cast<std::int32_t>(params.max_tokens());
    args.num_blocks = layout.num_blocks;
    args.num_seqs = static_cast<std::int32_t>(params.num_seqs);
    args.num_q_heads = params.num_q_heads;
    args.group_size = params.num_q_heads / layout.num_kv_heads;
    args.block_size_log2 = log2_of(layout.block_size);
    args.warps_log2 = log2_of(plan.num_warps);
    args.heads_log2 = log2_of(plan.heads_per_block);
    args.splits_log2 = log2_of(plan.num_splits);
    args.scale = checked.sm_scale * kLog2E;
    return args;
}

template <class Config, class Body>
void launch_split_walk(const DecodeArgs& args, std::int32_t num_kv_heads, const Partials& partials,
                       cudaStream_t stream) {
    constexpr std::int32_t kMaxGridY = 65535;
    const std::int32_t grid_y = std::min(args.num_seqs, kMaxGridY);
    const dim3 grid(static_cast<unsigned>(num_kv_heads >> args.heads_log2 << args.splits_log2),
                    static_cast<unsigned>(grid_y),
                    static_cast<unsigned>((std::int64_t{args.num_seqs} + grid_y - 1) / grid_y));
    const int shared_bytes = Config::kRingBytes << args.warps_log2;
    const auto kernel = split_walk_kernel<Config, Body>;
    allow_shared_memory(reinterpret_cast<const void*>(kernel), shared_bytes);
    NANOSERVE_CUDA_TRY(
        launch_kernel(kernel, grid, static_cast<unsigned>(kWarpSize << args.warps_log2),
                      static_cast<std::size_t>(shared_bytes), stream, args, partials));
}

/// Calls action.template operator()<Config>() with the configuration for these sizes: groups of up
/// to kSmallGroup query heads, or up to kLargeGroup.
template <int kSmallGroup, int kLargeGroup, class Action>
void visit_split_walk_config(DType dtype, std::int32_t head_dim, std::int32_t group_size,
                             int num_stages, Action action) {
    const auto choose_stages = [&]<class T, int kHeadDim, int kGroup, int... kStages>(
                                   std::integer_sequence<int, kStages...>) {
        ((num_stages == kStages + 1
              ? action.template operator()<SplitWalkConfig<T, kHeadDim, kGroup, kStages + 1>>()
              : void()),
         ...);
    };
    const auto choose_group = [&]<class T, int kHeadDim>() {
        constexpr std::make_integer_sequence<int, 6> kStages;
        if (group_size <= kSmallGroup) {
            choose_stages.template operator()<T, kHeadDim, kSmallGroup>(kStages);
        } else {
            choose_stages.template operator()<T, kHeadDim, kLargeGroup>(kStages);
        }
    };
    const auto choose_head_dim = [&]<class T>() {
        if (head_dim == 64) {
            choose_group.template operator()<T, 64>();
        } else {
            choose_group.template operator()<T, 128>();
        }
    };
    if (dtype == DType::bf16) {
        choose_head_dim.template operator()<Bf16>();
    } else {
        choose_head_dim.template operator()<Fp16>();
    }
}

/// Both launches, for parameters and a plan that require_plan() has let through.
template <template <class> class Body, int kSmallGroup, int kLargeGroup>
void split_walk_attention(const PagedAttentionParams& params, const AsyncCopyPlan& plan,
                          void* workspace, std::size_t workspace_bytes, cudaStream_t stream,
                          std::uint32_t* status) {
    const KVLayout& layout = params.kv.layout;
    const DecodeArgs args = split_walk_args(params, plan, status);
    const Partials partials = partials_in(params, plan.num_splits, workspace, workspace_bytes);
    if (params.num_seqs == 0) {
        return;
    }
    const auto reason =
        reason_not_to_plan(plan, layout, args.group_size, shared_bytes_of_current_device());
    require(!reason.has_value(), reason.value_or(""));
    visit_split_walk_config<kSmallGroup, kLargeGroup>(
        layout.dtype, layout.head_dim, args.group_size, plan.num_stages, [&]<class Config>() {
            launch_split_walk<Config, Body<Config>>(args, layout.num_kv_heads, partials, stream);
        });
    launch_merge(params, partials, stream);
}

}  // namespace nanoserve
