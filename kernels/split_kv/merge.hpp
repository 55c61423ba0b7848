// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanoserve/attention/paged_attention_params.hpp>

#include <cuda_runtime_api.h>
#include <kernels/split_kv/partials.hpp>

namespace nanoserve {

/// The second launch of a split read: merges the partial results of all splits, always in their
/// order, and writes out and lse. Stream-ordered behind the kernel that stored them; allocates
/// nothing, never synchronises, may be captured. num_seqs 0 launches nothing.
///
/// @param params the ones that the partial results were made from
/// @param partials every part's max stored, and its sum and out unless the max is -inf
/// @param stream where to launch
/// @throws CudaError when the launch fails
void launch_merge(const PagedAttentionParams& params, const Partials& partials,
                  cudaStream_t stream);

}  // namespace nanoserve
