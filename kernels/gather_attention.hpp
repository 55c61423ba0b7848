// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// gather_attention: Day 16 on the GPU, the baseline that the paged kernels are compared with.
#pragma once

#include <nanoserve/attention/paged_attention_params.hpp>

#include <cuda_runtime_api.h>

#include <cstddef>

namespace nanoserve {

/// Bytes of device memory that `gather_attention` needs for a batch of this shape: room for K and V
/// of num_seqs histories of max_blocks_per_seq blocks. Reads sizes alone, follows no pointer.
/// Throws std::invalid_argument for impossible sizes.
[[nodiscard]] std::size_t gather_workspace_bytes(const PagedAttentionParams& params);

/// Two launches: copy every history to a contiguous buffer through its block table, then attend
/// over that buffer. Moves the history three times where a paged read moves it once. The result is
/// that of PagedAttentionParams, within rounding; it doesn't depend on timing.
///
/// All pointers in `params` are device pointers, and everything is borrowed until the stream has
/// done the work. `workspace` is device memory of at least gather_workspace_bytes(params) bytes,
/// aligned to 16; two calls may share it when they are on one stream. A used table entry outside
/// the pool is not followed: its tokens count as absent. A length beyond the table is cut to it.
///
/// Asynchronous on `stream`: no allocation, no synchronisation. Throws std::invalid_argument,
/// naming the value and its limit, before anything is launched: a workspace that is too small,
/// io_dtype other than the pool's (over fp8 pools: than fp16 and bf16), head_dim above 256, rows
/// that are not whole multiples of 16 bytes, tokens of 2^31 elements and more. CudaError when a
/// launch fails.
void gather_attention(const PagedAttentionParams& params, void* workspace,
                      std::size_t workspace_bytes, cudaStream_t stream);

}  // namespace nanoserve
