// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// paged_decode: decode attention over a paged KV cache, as fast as the memory can deliver.
// Data     q, out [num_seqs, num_q_heads, head_dim] and pools of T, bf16 or fp16; the strides of
//          KVLayout; lse [num_seqs, num_q_heads] fp32
//          block_tables [num_seqs, max_blocks_per_seq], seq_lens [num_seqs] int32
// Work     a thread block has some KV heads of one sequence; each head has one or more of its
//          warps. A warp reads tiles of 16 tokens, taking turns with the warps that share its head
//          and with those of the other thread blocks of a cluster, where a history is split.
// Traffic  each K and V row once for all query heads of its group, 2 * seq_len * head_dim *
//          sizeof(T) bytes per KV head. A warp has up to kStages tiles on their way, an SM with 8
//          warps 128 KB: Little's law asks for 33 KB, an H200 is fastest from 128 KB on.
// Steps    per warp: ask for kStages tiles → per tile: wait for it, score, raise_max, weigh, add
//          values (warp_attention.cuh), ask for the next (kv_ring.cuh) → store_partial;
//          then merge_warps → merge_pushed (merge.cuh). No thread block barrier before the merge.
// Edges    no visible token: out = 0, lse = -inf. Rows behind the last token arrive as zeros and
//          their scores are masked. Blocks outside the pool are left out, lengths clamped.
// Tests    tests/kernels/paged_decode_test.cpp, tests/kernels/decode_plan_test.cpp.
#include <nanoserve/model/require.hpp>

#include <kernels/cuda_error.hpp>
#include <kernels/general/config.hpp>
#include <kernels/paged_decode.hpp>

#include <algorithm>
#include <bit>
#include <kernels/decode/kv_ring.cuh>
#include <kernels/decode/merge.cuh>
#include <kernels/decode/place.cuh>
#include <kernels/decode/warp_attention.cuh>

namespace nanoserve {
namespace {

// All tiles of one warp.
template <class Config>
__device__ void read_tiles(const DecodeArgs& args, const DecodePlace& place,
                           std::uint32_t ring_memory, WarpAttention<Config>& attention) {
    // Three loads that don't wait for each other: the length, the table, the query.
    const int given_length = __ldg(args.seq_lens + place.seq);
    const TileWalk walk(args, place);
    BlockIds block_ids(args, place.seq, walk);
    attention.load_query(static_cast<const typename Config::T*>(args.q) +
                             place.seq * args.q_stride +
                             place.kv_head * args.group_size * Config::kHeadDim,
                         args.group_size);

    KVRing<Config> ring(args, place.kv_head, ring_memory);
    const int seq_len = min(max(given_length, 0), args.max_seq_len);
    int num_tiles = walk.num_tiles(seq_len);
    ptx::keep(num_tiles);
    const auto num_tokens = [&](int i) { return seq_len - 16 * walk.tile(i); };  // 16 or more: all
    const auto ask = [&](int i, int stage) {
        if (i < num_tiles) {
            ring.ask(block_ids[i], walk.tile(i), num_tokens(i), stage);
        }
        ptx::close_copy_group();
    };
#pragma unroll
    for (int stage = 0; stage < Config::kStages; ++stage) {
        ask(stage, stage);
    }
    int stage = 0;
#pragma unroll 1
    for (int i = 0; i < num_tiles; ++i) {
        ptx::wait_for_copies<Config::kStages - 1>();
        __syncwarp();  // the copies of all lanes are there
        if (!ring.is_absent(stage)) {
            attention.add_tile(ring.keys(stage), num_tokens(i), args.scale);
        }
        __syncwarp();  // no lane reads the stage any more
        ask(i + Config::kStages, stage);
        stage = stage + 1 == Config::kStages ? 0 : stage + 1;
    }
    if (args.status != nullptr && lane_index() == 0 &&
        (ring.saw_absent() || seq_len != given_length)) {
        atomicOr(args.status, (ring.saw_absent() ? kAbsentBlock : 0u) |
                                  (seq_len != given_length ? kClampedLength : 0u));
    }
}

template <class Config>
__global__ void __launch_bounds__(Config::kMaxThreads, 1)
    decode_kernel(const __grid_constant__ DecodeArgs args) {
    extern __shared__ __align__(1024) unsigned char memory[];
    const DecodePlace place(args);
    if (place.seq >= args.num_seqs) {
        return;  // the whole cluster
    }
    const bool is_split = args.splits_log2 > 0;
    if (is_split) {
        ptx::announce_to_cluster();
    }
    WarpAttention<Config> attention;
    read_tiles(
        args, place,
        ptx::shared_address(memory) + static_cast<std::uint32_t>(place.warp) * Config::kRingBytes,
        attention);

    if (!is_split && place.sharers_log2 == 0) {
        const std::int64_t row = place.first_row(args);
        attention.store_output(static_cast<typename Config::T*>(args.out) + row * Config::kHeadDim,
                               args.lse == nullptr ? nullptr : args.lse + row, args.group_size);
        return;
    }
    const DecodeShared<Config> shared = {memory, 1 << args.warps_log2,
                                         args.group_size << args.heads_log2, args.splits_log2};
    attention.store_partial(shared.out(place.warp), shared.max_and_sum(place.warp),
                            args.group_size);
    __syncthreads();  // the partial results of all warps visible
    if (is_split) {
        ptx::wait_for_cluster();  // every thread block has started, so its memory can be written
    }
    merge_warps(args, place, shared);
    if (is_split) {
        ptx::arrive_at_cluster();
        ptx::wait_for_cluster();  // all that others have pushed visible
        merge_pushed(args, place, shared);
    }
}

template <class Config>
void launch(const DecodeArgs& args, std::int32_t num_kv_heads, cudaStream_t stream) {
    const DecodeShared<Config> shared = {nullptr, 1 << args.warps_log2,
                                         args.group_size << args.heads_log2, args.splits_log2};
    constexpr std::int32_t kMaxGridY = 65535;
    const std::int32_t grid_y = std::min(args.num_seqs, kMaxGridY);
    cudaLaunchConfig_t config = {};
    config.gridDim = {static_cast<unsigned>(num_kv_heads >> args.heads_log2 << args.splits_log2),
                      static_cast<unsigned>(grid_y),
                      static_cast<unsigned>((args.num_seqs + grid_y - 1) / grid_y)};
    config.blockDim = static_cast<unsigned>(kWarpSize << args.warps_log2);
    config.dynamicSmemBytes = static_cast<std::size_t>(shared.bytes());
    config.stream = stream;
    cudaLaunchAttribute cluster;
    cluster.id = cudaLaunchAttributeClusterDimension;
    cluster.val.clusterDim = {1u << args.splits_log2, 1, 1};
    config.attrs = &cluster;
    config.numAttrs = args.splits_log2 > 0 ? 1 : 0;
    NANOSERVE_CUDA_TRY(cudaFuncSetAttribute(
        decode_kernel<Config>, cudaFuncAttributeMaxDynamicSharedMemorySize, shared.bytes()));
    NANOSERVE_CUDA_TRY(cudaLaunchKernelEx(&config, decode_kernel<Config>, args));
}

// Calls action.template operator()<Config>() with the configuration for these sizes.
template <class Action>
void visit_decode_config(DType dtype, std::int32_t head_dim, std::int32_t group_size,
                         bool evict_first, Action action) {
    const auto choose = [&]<class T, int kHeadDim, int kHeadTiles>() {
        if (evict_first) {
            action.template operator()<DecodeConfig<T, kHeadDim, kHeadTiles, true>>();
        } else {
            action.template operator()<DecodeConfig<T, kHeadDim, kHeadTiles, false>>();
        }
    };
    const auto choose_tiles = [&]<class T, int kHeadDim>() {
        if (group_size <= 8) {
            choose.template operator()<T, kHeadDim, 1>();
        } else {
            choose.template operator()<T, kHeadDim, 2>();
        }
    };
    const auto choose_head_dim = [&]<class T>() {
        if (head_dim == 64) {
            choose_tiles.template operator()<T, 64>();
        } else {
            choose_tiles.template operator()<T, 128>();
        }
    };
    if (dtype == DType::bf16) {
        choose_head_dim.template operator()<Bf16>();
    } else {
        choose_head_dim.template operator()<Fp16>();
    }
}

std::int32_t log2_of(std::int32_t power) {
    return std::countr_zero(static_cast<unsigned>(power));
}

DecodeArgs make_args(const PagedAttentionParams& params, const DecodePlan& plan,
                     std::uint32_t* status) {
    constexpr float kLog2E = 1.44269504f;
    const PagedAttentionArgs checked = make_paged_attention_args(params, status);
    const KVLayout& layout = params.kv.layout;
    const std::int64_t bytes = bytes_of(layout.dtype);
    return {.k_cache = static_cast<const char*>(params.kv.k_cache),
            .v_cache = static_cast<const char*>(params.kv.v_cache),
            .q = params.q,
            .out = params.out,
            .lse = params.lse,
            .block_tables = params.block_tables,
            .seq_lens = params.seq_lens,
            .status = status,
            .q_stride = checked.q_stride,
            .block_bytes = static_cast<std::uint32_t>(layout.block_stride * bytes),
            .head_bytes = static_cast<std::uint32_t>(layout.head_stride * bytes),
            .token_bytes = static_cast<std::uint32_t>(layout.token_stride * bytes),
            .max_blocks_per_seq = static_cast<std::int32_t>(params.max_blocks_per_seq),
            .max_seq_len = static_cast<std::int32_t>(params.max_blocks_per_seq * layout.block_size),
            .num_blocks = layout.num_blocks,
            .num_seqs = static_cast<std::int32_t>(params.num_seqs),
            .num_q_heads = params.num_q_heads,
            .group_size = params.num_q_heads / layout.num_kv_heads,
            .block_tiles_log2 = log2_of(layout.block_size / 16),
            .warps_log2 = log2_of(plan.num_warps),
            .heads_log2 = log2_of(plan.heads_per_block),
            .splits_log2 = log2_of(plan.num_splits),
            .scale = checked.sm_scale * kLog2E};
}

void require_plan(const DecodePlan& plan, std::int32_t num_kv_heads) {
    for (const auto& [name, value] : {std::pair{"num_warps", plan.num_warps},
                                      std::pair{"heads_per_block", plan.heads_per_block},
                                      std::pair{"num_splits", plan.num_splits}}) {
        require(value >= 1 && value <= 8 && std::has_single_bit(static_cast<unsigned>(value)), name,
                " is ", value, "; it must be 1, 2, 4 or 8");
    }
    require(plan.heads_per_block <= plan.num_warps, "heads_per_block is ", plan.heads_per_block,
            "; there are ", plan.num_warps, " warps");
    require(num_kv_heads % plan.heads_per_block == 0, "heads_per_block is ", plan.heads_per_block,
            "; it must divide ", num_kv_heads, " KV heads");
}

DecodeDevice current_device() {
    int device = 0, num_sms = 0, major = 0;
    NANOSERVE_CUDA_TRY(cudaGetDevice(&device));
    NANOSERVE_CUDA_TRY(cudaDeviceGetAttribute(&num_sms, cudaDevAttrMultiProcessorCount, device));
    NANOSERVE_CUDA_TRY(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device));
    return {.num_sms = num_sms, .has_clusters = major >= 9};
}

}  // namespace

void paged_decode(const PagedAttentionParams& params, const DecodePlan& plan, cudaStream_t stream,
                  std::uint32_t* status) {
    const DecodeArgs args = make_args(params, plan, status);
    const auto reason = reason_not_to_decode(params);
    require(!reason.has_value(), reason.value_or(""));
    const KVLayout& layout = params.kv.layout;
    require_plan(plan, layout.num_kv_heads);
    if (params.num_seqs == 0) {
        return;
    }
    visit_decode_config(layout.dtype, layout.head_dim, args.group_size, plan.evict_first,
                        [&]<class Config>() { launch<Config>(args, layout.num_kv_heads, stream); });
}

void paged_decode(const PagedAttentionParams& params, cudaStream_t stream, std::uint32_t* status) {
    const KVLayout& layout = params.kv.layout;
    const DecodeLoad load = {.num_seqs = params.num_seqs,
                             .num_kv_heads = layout.num_kv_heads,
                             .max_tokens = params.max_blocks_per_seq * layout.block_size,
                             .bytes_per_row = layout.head_dim * bytes_of(layout.dtype)};
    paged_decode(params, plan_decode(load, current_device()), stream, status);
}

}  // namespace nanoserve
