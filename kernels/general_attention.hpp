// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanoserve/attention/paged_attention_params.hpp>

#include <cuda_runtime_api.h>
#include <kernels/general/config.hpp>

#include <cstdint>

namespace nanoserve {

/// Day 21: paged_attention_reference on the GPU. The same parameters with the same meaning; every
/// pointer in them is a device pointer, which must stay valid until the work on `stream` is done.
/// Reads K and V once for each query head, in one pass (online softmax), with any strides and any
/// block_size, for every pair of io_dtype and pool dtype, under any rules.
///
/// Stream-ordered: returns after the launch, allocates nothing, never synchronises, and may be
/// captured in a CUDA graph. The same inputs give the same bits. num_seqs 0 launches nothing.
///
/// What the host can't see is checked on the device, and never followed: a used table entry outside
/// [0, num_blocks) counts as absent, so its tokens are left out; a seq_len that is negative or more
/// than max_blocks_per_seq * block_size is clamped. Each sets its bit in `status`.
///
/// @param params head_dim a multiple of 8, at most 256; num_seqs * num_q_heads below 2^31
/// @param stream where to launch
/// @param status one word of device memory that takes bits of ReadStatus and keeps those it has;
/// set it to 0 before the first call. May be nullptr
/// @throws std::invalid_argument as validate_sizes() does, and for sizes that the kernel does not
/// take, before anything is launched
/// @throws CudaError when the launch fails
void general_attention(const PagedAttentionParams& params, cudaStream_t stream,
                       std::uint32_t* status = nullptr);

}  // namespace nanoserve
