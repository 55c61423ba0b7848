// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanoserve/attention/paged_attention_params.hpp>

#include <cuda_runtime_api.h>
#include <kernels/async_copy/plan.hpp>
#include <kernels/split_kv/partials.hpp>

#include <cstddef>
#include <cstdint>

namespace nanoserve {

/// Day 24's kernel: K and V reach the multiprocessors through asynchronous copies, into a ring of
/// stages for each warp; the arithmetic is that of Day 23, in fp32. The same parameters with the
/// same meaning as for general_attention, the same treatment of absent blocks and impossible
/// lengths, the same promises: stream-ordered, no allocation, may be captured, the same bits every
/// time. Two launches: the walk, and the merge of what it leaves in the workspace.
///
/// @param params bf16 or fp16 for the pool, q and out alike; head_dim 64 or 128; up to 8 query
/// heads for each KV head; block_size a power of two from 16 on; pools and strides in multiples of
/// 16 bytes. reason_not_to_copy_async() tells.
/// @param plan how to cut it up; plan_async_copy() makes one. reason_not_to_plan() tells what is
/// out of its limits
/// @param workspace partials_bytes(params, plan.num_splits) bytes of device memory at least,
/// aligned to 16; the caller's, and in use until the work on `stream` is done
/// @param workspace_bytes what the caller has there
/// @param stream where to launch
/// @param status one word of device memory as for paged_attention; may be nullptr
/// @throws std::invalid_argument as validate_sizes() does, with the reasons above, and for a
/// workspace that is too small, before anything is launched
/// @throws CudaError when a launch fails
void async_copy_attention(const PagedAttentionParams& params, const AsyncCopyPlan& plan,
                          void* workspace, std::size_t workspace_bytes, cudaStream_t stream,
                          std::uint32_t* status = nullptr);

/// plan_async_copy() for a batch of this shape on the current device. Throws CudaError when there
/// is none, std::invalid_argument as validate_shape() does.
[[nodiscard]] AsyncCopyPlan plan_async_copy(const PagedAttentionParams& params);

}  // namespace nanoserve
