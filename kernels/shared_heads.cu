// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// shared_heads_attention: decode attention in which the query heads of a group share each row.
// Data     q, out [num_seqs, num_q_heads, head_dim] of io_dtype; lse [num_seqs, num_q_heads] fp32
//          K and V pools of T with the strides of KVLayout, rows of 1 to 32 chunks of 16 bytes
//          block_tables [num_seqs, max_blocks_per_seq], seq_lens [num_seqs] int32
// Work     one thread block per KV head of a sequence, for up to 8 query heads. A row is read by as
//          many neighbouring lanes as it has chunks, so a warp takes several tokens at once: a tile
//          is 4 such loads of K and of V. The warps take tiles in turn and never meet before the
//          end; the lanes that read a row together have an online softmax of their own.
// Traffic  2 * seq_len * head_dim * sizeof(T) bytes per KV head: each K and V byte once for its
//          group (of up to 8). An SM has 16 warps of 4 KB on their way: 64 KB.
// Steps    per warp: find_rows → load_keys, load_values → per tile: dot_chunks → add_up_chunks →
//          weigh_scores → add_values, asking for the next K and V as soon as their registers are
//          free; then merge_readers → share_sums → merge_parts over the warps → write_element.
//          All of them are in shared_heads/attend_group.hpp.
// Edges    no visible token: out = 0, lse = -inf. Ids outside the pool are left out, impossible
//          lengths clamped. Rows behind the end are not read: their chunks are zeros, their scores
//          -inf.
// Tests    tests/kernels/shared_heads_test.cpp on a GPU, group_twin_test.cpp there anywhere.
#include <kernels/cuda_error.hpp>
#include <kernels/shared_heads.hpp>
#include <kernels/shared_heads/attend_group.hpp>
#include <kernels/split_kv/write_output.hpp>

#include <kernels/launch.cuh>
#include <kernels/shared_heads/warp.cuh>

namespace nanoserve {
namespace {

//! [kernel]
// blockIdx.x is the thread block of group_of_block, threadIdx.x a lane of one of the warps.
// Needs blockDim.x == Config::kNumThreads.
template <class Config>
__global__ void __launch_bounds__(Config::kNumThreads, Config::kThreadBlocksPerSm)
    shared_heads_kernel(const __grid_constant__ SharedHeadsArgs args) {
    __shared__ SharedHeadsShared<Config> s;
    const QueryGroup group = group_of_block<Config>(args, static_cast<std::int32_t>(blockIdx.x));
    ChunkMemory memory(args, group.seq);
    const TokenRange tokens = {.begin = 0, .end = visible_tokens_of(args, memory)};
    const auto write = [&](std::int64_t row, std::int32_t d, const ElementSums& sums) {
        write_element(args.params, row, d, sums);
    };
    BlockOfWarps block;
    attend_group<Config>(args, group, tokens, block, memory, s, write);
}
//! [kernel]

}  // namespace

void shared_heads_attention(const PagedAttentionParams& params, cudaStream_t stream,
                            std::uint32_t* status) {
    const SharedHeadsArgs args = make_shared_heads_args(params, status);
    if (params.num_seqs == 0) {
        return;
    }
    const auto grid = static_cast<unsigned>(num_group_blocks(params));
    visit_shared_heads_config(args, [&]<class Config>() {
        NANOSERVE_CUDA_TRY(
            launch_kernel(shared_heads_kernel<Config>, grid, Config::kNumThreads, 0, stream, args));
    });
}

}  // namespace nanoserve
