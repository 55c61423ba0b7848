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

/// Day 25's kernel: async_copy_attention with scores and values on tensor cores. Scores and sums
/// are fp32, weights are rounded to the pool's type before they meet the values. Everything else is
/// as there.
///
/// @param params as for async_copy_attention, but up to 16 query heads for each KV head.
/// reason_not_to_use_tensor_cores() tells.
/// @param plan how to cut it up; plan_async_copy() makes one
/// @param workspace partials_bytes(params, plan.num_splits) bytes of device memory at least,
/// aligned to 16
/// @param workspace_bytes what the caller has there
/// @param stream where to launch
/// @param status one word of device memory as for paged_attention; may be nullptr
/// @throws std::invalid_argument as validate_sizes() does, with the reasons above, and for a
/// workspace that is too small, before anything is launched
/// @throws CudaError when a launch fails
void tensor_core_attention(const PagedAttentionParams& params, const AsyncCopyPlan& plan,
                           void* workspace, std::size_t workspace_bytes, cudaStream_t stream,
                           std::uint32_t* status = nullptr);

}  // namespace nanoserve
