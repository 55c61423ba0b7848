// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanoserve/attention/paged_attention_params.hpp>

#include <cuda_runtime_api.h>
#include <kernels/split_kv/partials.hpp>
#include <kernels/split_kv/split_history.hpp>

#include <cstddef>
#include <cstdint>

namespace nanoserve {

/// choose_num_splits() for a batch of this shape on the current device. Throws CudaError when there
/// is none, std::invalid_argument as validate_shape() does.
[[nodiscard]] std::int32_t choose_num_splits(const PagedAttentionParams& params);

/// Bytes of device memory that split_kv_attention needs for a batch of this shape: none for one
/// split. Reads sizes alone.
/// @throws std::invalid_argument as validate_shape() does, and when num_splits is not 1 to
/// kMaxSplits
[[nodiscard]] std::size_t split_kv_workspace_bytes(const PagedAttentionParams& params,
                                                   std::int32_t num_splits);

/// Day 23: shared_heads_attention with each history split among `num_splits` thread blocks, so that
/// few sequences keep many SMs busy. Takes what shared_heads_attention takes, with the same meaning
/// and promises. Two launches: every thread block stores what it has summed in the workspace, then
/// the parts of each row are merged in their order; one split is a single launch. The bits depend
/// on num_splits, never on timing.
///
/// @param params as for shared_heads_attention
/// @param num_splits 1 to kMaxSplits; choose_num_splits() has a rule
/// @param workspace device memory of split_kv_workspace_bytes() bytes, aligned to 16, the caller's;
/// two calls may share it when they are on one stream. May be nullptr for one split
/// @param workspace_bytes what the caller has there
/// @param stream where to launch
/// @param status one word of device memory as for general_attention; may be nullptr
/// @throws std::invalid_argument as shared_heads_attention does, and for a number of splits or a
/// workspace that won't do, before anything is launched
/// @throws CudaError when a launch fails
void split_kv_attention(const PagedAttentionParams& params, std::int32_t num_splits,
                        void* workspace, std::size_t workspace_bytes, cudaStream_t stream,
                        std::uint32_t* status = nullptr);

}  // namespace nanoserve
