// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// split_kv_attention: shared_heads_attention with each history split among several thread blocks.
// Data     as for shared_heads_attention, and partial results in the caller's workspace: out
//          [num_rows, num_splits, head_dim], max and sum [num_rows, num_splits], fp32
// Work     one thread block per KV head of a sequence and split; the body is shared_heads'. Then
//          one thread block per row merges the splits (split_kv/merge.cu).
// Traffic  each K and V byte once for its group. A partial result is written and read once, mostly
//          in L2: 8 * num_splits * (head_dim + 2) bytes per query head.
// Steps    split_range → attend_group → store the partial result; second launch: merge_parts over
//          the splits → write_element.
// Edges    a split without tokens stores max -inf, sum 0 and zeros; the rest as shared_heads.
// Tests    tests/kernels/split_kv_test.cpp on a GPU, group_twin_test.cpp there anywhere.
#include <nanoserve/model/require.hpp>

#include <kernels/cuda_error.hpp>
#include <kernels/shared_heads.hpp>
#include <kernels/shared_heads/attend_group.hpp>
#include <kernels/split_kv.hpp>
#include <kernels/split_kv/merge.hpp>

#include <kernels/launch.cuh>
#include <kernels/shared_heads/warp.cuh>

namespace nanoserve {
namespace {

//! [kernel]
// blockIdx.x is the thread block of group_of_block, blockIdx.y the split, threadIdx.x a lane of one
// of the warps. Needs blockDim.x == Config::kNumThreads.
template <class Config>
__global__ void __launch_bounds__(Config::kNumThreads, Config::kThreadBlocksPerSm)
    split_kv_kernel(const __grid_constant__ SharedHeadsArgs args,
                    const __grid_constant__ Partials partials) {
    __shared__ SharedHeadsShared<Config> s;
    const QueryGroup group = group_of_block<Config>(args, static_cast<std::int32_t>(blockIdx.x));
    const auto split_idx = static_cast<std::int32_t>(blockIdx.y);
    ChunkMemory memory(args, group.seq);
    const TokenRange tokens =
        split_range(visible_tokens_of(args, memory), partials.num_splits, split_idx);
    const auto store = [&](std::int64_t row, std::int32_t d, const ElementSums& sums) {
        partials.store(row, split_idx, d, sums);
    };
    BlockOfWarps block;
    attend_group<Config>(args, group, tokens, block, memory, s, store);
}
//! [kernel]

}  // namespace

std::int32_t choose_num_splits(const PagedAttentionParams& params) {
    int device = 0, num_sms = 0;
    NANOSERVE_CUDA_TRY(cudaGetDevice(&device));
    NANOSERVE_CUDA_TRY(cudaDeviceGetAttribute(&num_sms, cudaDevAttrMultiProcessorCount, device));
    return choose_num_splits(params, num_sms);
}

std::size_t split_kv_workspace_bytes(const PagedAttentionParams& params, std::int32_t num_splits) {
    const std::size_t num_bytes = partials_bytes(params, num_splits);
    return num_splits == 1 ? 0 : num_bytes;
}

void split_kv_attention(const PagedAttentionParams& params, std::int32_t num_splits,
                        void* workspace, std::size_t workspace_bytes, cudaStream_t stream,
                        std::uint32_t* status) {
    if (num_splits == 1) {
        return shared_heads_attention(params, stream, status);
    }
    const SharedHeadsArgs args = make_shared_heads_args(params, status);
    const Partials partials = partials_in(params, num_splits, workspace, workspace_bytes);
    if (params.num_seqs == 0) {
        return;
    }
    const dim3 grid(static_cast<unsigned>(num_group_blocks(params)),
                    static_cast<unsigned>(num_splits));
    visit_shared_heads_config(args, [&]<class Config>() {
        NANOSERVE_CUDA_TRY(launch_kernel(split_kv_kernel<Config>, grid, Config::kNumThreads, 0,
                                         stream, args, partials));
    });
    launch_merge(params, partials, stream);
}

}  // namespace nanoserve
