// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// merge: put together what thread blocks have summed over parts of the same histories.
// Data     partials (split_kv/partials.hpp) fp32; out [num_seqs, num_q_heads, head_dim] of
// io_dtype,
//          lse [num_seqs, num_q_heads] fp32
// Work     one thread block per row, one thread per element of the row; splits walked in order.
// Traffic  num_splits * (head_dim + 2) * 4 bytes per row, nothing reused, and fresh in L2: the time
//          is that of a launch and of two waits.
// Steps    largest max → factors, sum and out (merge_parts) → divide and store (write_element).
// Edges    a split without tokens is not looked at; all of them empty: out = 0, lse = -inf.
// Tests    tests/kernels/split_kv_test.cpp on a GPU, tests/kernels/merge_parts_test.cpp anywhere.
#include <kernels/cuda_error.hpp>
#include <kernels/split_kv/merge.hpp>
#include <kernels/split_kv/write_output.hpp>

#include <kernels/launch.cuh>

namespace nanoserve {
namespace {

// blockIdx.x is the row, threadIdx.x the element.
__global__ void merge_kernel(const __grid_constant__ PagedAttentionParams params,
                             const __grid_constant__ Partials partials) {
    merge_element(params, partials, std::int64_t{blockIdx.x},
                  static_cast<std::int32_t>(threadIdx.x));
}

}  // namespace

void launch_merge(const PagedAttentionParams& params, const Partials& partials,
                  cudaStream_t stream) {
    if (params.num_seqs == 0) {
        return;
    }
    const auto num_rows = static_cast<unsigned>(params.num_seqs * params.num_q_heads);
    const auto head_dim = static_cast<unsigned>(partials.head_dim);
    NANOSERVE_CUDA_TRY(
        launch_kernel(merge_kernel, num_rows, head_dim, 0, stream, params, partials));
}

}  // namespace nanoserve
