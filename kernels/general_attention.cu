// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// general_attention: decode attention over a paged KV cache, in place and in one pass.
// Data     q, out [num_seqs, num_q_heads, head_dim] of io_dtype; lse [num_seqs, num_q_heads] fp32
//          K and V pools of T with the strides of KVLayout, for fp8 with scales
//          block_tables [num_seqs, max_blocks_per_seq], seq_lens [num_seqs] int32
// Work     one thread block of 4 warps per query head of a sequence. A warp reads one row at a
//          time, 32 neighbouring elements together; the warps share the tokens of a step.
// Traffic  2 * seq_len * head_dim * sizeof(T) bytes per query head: each K and V byte once, so
//          group_size times for its KV head. The thread blocks of a group run side by side, so
//          what one has read the others may find in L2. 4 flops for each element of K and V.
// Steps    load_query → per KV block, up to 32 tokens at a time: dot_keys → finish_scores →
//          raise_max → weights → add_values; then share_sums → write_output.
//          All of them are in general/attend_head.hpp.
// Edges    no visible token: out = 0, lse = -inf. Ids outside the pool are left out, impossible
//          lengths clamped. A step has four barriers, however few tokens its KV block holds.
// Tests    tests/kernels/general_attention_test.cpp on a GPU, tests/kernels/twin_test.cpp anywhere.
#include <kernels/cuda_error.hpp>
#include <kernels/general/attend_head.hpp>
#include <kernels/general_attention.hpp>

#include <kernels/general/thread_block.cuh>
#include <kernels/launch.cuh>

namespace nanoserve {
namespace {

//! [kernel]
// blockIdx.x is seq * num_q_heads + query head, threadIdx.x a lane of one of the warps.
// Needs blockDim.x == Config::kNumThreads.
template <class Config, class T>
__global__ void __launch_bounds__(Config::kNumThreads)
    paged_attention_kernel(const __grid_constant__ PagedAttentionArgs args) {
    __shared__ PagedAttentionShared<Config> s;
    const PagedAttentionParams& p = args.params;
    const auto head = static_cast<std::int32_t>(blockIdx.x % static_cast<unsigned>(p.num_q_heads));
    const std::int32_t group_size = p.num_q_heads / p.kv.layout.num_kv_heads;
    const QueryHead query = {.seq = blockIdx.x / static_cast<unsigned>(p.num_q_heads),
                             .head = head,
                             .kv_head = head / group_size};
    ThreadBlock team;
    DeviceMemory<T> memory(p, args.status, query.seq, query.kv_head);
    attend_head<Config>(args, query, team, memory, s);
}
//! [kernel]

}  // namespace

void general_attention(const PagedAttentionParams& params, cudaStream_t stream,
                       std::uint32_t* status) {
    const PagedAttentionArgs args = make_paged_attention_args(params, status);
    if (params.num_seqs == 0) {
        return;
    }
    const auto grid = static_cast<unsigned>(params.num_seqs * params.num_q_heads);
    visit_dtype(params.kv.layout.dtype, [&]<class T>() {
        visit_paged_attention_config(params.kv.layout.head_dim, [&]<class Config>() {
            NANOSERVE_CUDA_TRY(launch_kernel(paged_attention_kernel<Config, T>, grid,
                                             Config::kNumThreads, 0, stream, args));
        });
    });
}

}  // namespace nanoserve
