// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// async_copy: decode attention over a paged KV cache that keeps bytes in flight.
// Data     q, out [num_seqs, num_q_heads, head_dim] and pools of T, bf16 or fp16; the strides of
//          KVLayout; lse [num_seqs, num_q_heads] fp32; partials [rows, num_splits, head_dim] fp32
//          block_tables [num_seqs, max_blocks_per_seq], seq_lens [num_seqs] int32
// Work     a thread block has some KV heads of one sequence and one split of its history; each head
//          has one or more of its warps. A warp reads tiles of 16 tokens, taking turns with all
//          that share its head.
// Traffic  each K and V row once for all query heads of its group, 2 * seq_len * head_dim *
//          sizeof(T) bytes per KV head. A warp has num_stages tiles on their way: a thread block
//          num_warps * num_stages * 64 * head_dim bytes. 4 * group_size flops for each element of
//          K and V.
// Steps    per warp: ask for num_stages tiles → per tile: wait for it, add it (fp32_attention.cuh),
//          ask for the next (split_walk.cuh, kv_ring.cuh) → store_partial; then merge_warps, and a
//          second launch merges the splits (split_kv/merge.cu). The one thread block barrier stands
//          before merge_warps.
// Edges    no visible token: out = 0, lse = -inf. Rows behind the last token arrive as zeros and
//          their scores are masked. Blocks outside the pool are left out, lengths clamped.
// Tests    tests/kernels/split_walk_test.cpp on a GPU; bank_swizzle_test.cpp, ring_order_test.cpp
//          and async_copy_plan_test.cpp anywhere.
#include <kernels/async_copy.hpp>

#include <kernels/async_copy/fp32_attention.cuh>
#include <kernels/async_copy/split_walk.cuh>

namespace nanoserve {

//! [attention]
void async_copy_attention(const PagedAttentionParams& params, const AsyncCopyPlan& plan,
                          void* workspace, std::size_t workspace_bytes, cudaStream_t stream,
                          std::uint32_t* status) {
    require_plan(params, plan, reason_not_to_copy_async);
    split_walk_attention<Fp32Attention, 4, 8>(params, plan, workspace, workspace_bytes, stream,
                                              status);
}
//! [attention]

AsyncCopyPlan plan_async_copy(const PagedAttentionParams& params) {
    int device = 0, num_sms = 0;
    NANOSERVE_CUDA_TRY(cudaGetDevice(&device));
    NANOSERVE_CUDA_TRY(cudaDeviceGetAttribute(&num_sms, cudaDevAttrMultiProcessorCount, device));
    return plan_async_copy(params, num_sms, shared_bytes_of_current_device());
}

}  // namespace nanoserve
