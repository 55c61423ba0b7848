// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanoserve/attention/paged_attention_params.hpp>

#include <cuda_runtime_api.h>
#include <kernels/shared_heads/config.hpp>

#include <cstdint>

namespace nanoserve {

/// Day 22: attention in which the query heads of a group share each row. The same parameters with
/// the same meaning as for general_attention, the same treatment of absent blocks and impossible
/// lengths, the same promises (stream-ordered, no allocation, may be captured, the same bits every
/// time). One thread block for each KV head of a sequence reads every K and V row once, 16 bytes at
/// a time, for up to 8 query heads; a larger group is dealt out to several thread blocks.
///
/// @param params any pair of io_dtype and pool dtype, any block_size; rows of 16 to 512 bytes, a
/// power of two; pools and strides in multiples of 16 bytes. reason_not_to_share_heads() tells.
/// @param stream where to launch
/// @param status one word of device memory as for general_attention; may be nullptr
/// @throws std::invalid_argument as validate_sizes() does, and with what
/// reason_not_to_share_heads() says, before anything is launched
/// @throws CudaError when the launch fails
void shared_heads_attention(const PagedAttentionParams& params, cudaStream_t stream,
                            std::uint32_t* status = nullptr);

}  // namespace nanoserve
