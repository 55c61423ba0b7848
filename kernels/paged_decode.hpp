// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanoserve/attention/paged_attention_params.hpp>

#include <cuda_runtime_api.h>
#include <kernels/decode/plan.hpp>
#include <kernels/workspace.hpp>

#include <cstddef>
#include <cstdint>

namespace nanoserve {

/// paged_attention at the memory's limit, for the sizes that it is made for: the same parameters
/// with the same meaning, the same treatment of absent blocks and impossible lengths, the same
/// promises (stream-ordered, no allocation, may be captured, the same bits every time). Reads K and
/// V once for all query heads of a group, on tensor cores: scores and sums in fp32, weights rounded
/// to the pool's type. Elements of fp8 become fp16 in registers, exactly, and weights fp16. While a
/// history is walked a weight may be as large as 2^8, and the scale of V is multiplied in before
/// the division: sums of 2^8 * weight * v have to be finite.
///
/// @param params bf16 or fp16 for q and out, and the same or fp8_e4m3 for the pool; head_dim 64,
/// 96, 128, 192 or 256, of fp8 64, 128 or 256; up to 16 query heads for each KV head; block_size a
/// power of two; pools and strides in multiples of 16 bytes, q and its stride of 4, over fp8 of 8;
/// of the rules a sliding window and sinks. reason_not_to_decode() tells.
/// @param stream where to launch
/// @param status one word of device memory as for paged_attention; may be nullptr
/// @param workspace of paged_decode_workspace_bytes(), for batches whose lengths differ much: with
/// it all SMs share the long histories, whatever the lengths turn out to be, which costs time where
/// they are alike; not used where a window leaves all histories short. May be empty
/// @param order whether the launch may overlap the end of the kernel before it on the stream
/// @throws std::invalid_argument as validate_sizes() does, and with what reason_not_to_decode()
/// says
/// @throws CudaError when the launch fails
void paged_decode(const PagedAttentionParams& params, cudaStream_t stream,
                  std::uint32_t* status = nullptr, Workspace workspace = {},
                  LaunchOrder order = LaunchOrder::after_previous);

/// Bytes of a workspace for these sizes on the current device; seq_lens don't matter.
/// @throws std::invalid_argument as validate_sizes() does
/// @throws CudaError when there is no device
[[nodiscard]] std::size_t paged_decode_workspace_bytes(const PagedAttentionParams& params);

/// paged_decode cut up as `plan` says instead of as plan_decode() would: for measurements and
/// tests.
/// @throws std::invalid_argument also for a plan that is out of its limits, or of the device's in
/// shared memory and clusters, and for a balanced one whose workspace is too small, whose load is
/// more than can_balance() or that has a sliding window
void paged_decode(const PagedAttentionParams& params, const DecodePlan& plan, cudaStream_t stream,
                  std::uint32_t* status = nullptr, Workspace workspace = {},
                  LaunchOrder order = LaunchOrder::after_previous);

}  // namespace nanoserve
