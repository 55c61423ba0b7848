// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// tensor_cores: the kernel of async_copy.cu with its arithmetic on tensor cores.
// Data     as in async_copy.cu
// Work     as in async_copy.cu
// Traffic  as in async_copy.cu. The products are m16n8k16: a tile's 16 tokens are the M, the query
//          heads of a group the N, so a group of 1 and one of 8 cost the same.
// Steps    per tile: score → mask → weigh, and again when the maximum must move → add values
//          (decode/warp_attention.cuh); all around it is split_walk.cuh.
// Edges    as in async_copy.cu; up to 16 query heads in a group, the second 8 as a second product.
// Tests    tests/kernels/split_walk_test.cpp on a GPU, mma_fragments_test.cpp anywhere.
#include <kernels/tensor_cores.hpp>

#include <kernels/async_copy/split_walk.cuh>
#include <kernels/tensor_cores/tensor_core_attention.cuh>

namespace nanoserve {

//! [attention]
void tensor_core_attention(const PagedAttentionParams& params, const AsyncCopyPlan& plan,
                           void* workspace, std::size_t workspace_bytes, cudaStream_t stream,
                           std::uint32_t* status) {
    require_plan(params, plan, reason_not_to_use_tensor_cores);
    split_walk_attention<TensorCoreAttention, 8, 16>(params, plan, workspace, workspace_bytes,
                                                     stream, status);
}
//! [attention]

}  // namespace nanoserve
