// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanoserve/attention/paged_attention_params.hpp>

#include <cstdint>

namespace nanoserve {

/// The kernels behind paged_attention.
enum class AttentionKernel : std::uint8_t {
    general,       ///< general_attention, Day 21: every size and type
    shared_heads,  ///< shared_heads_attention, Day 22: rows of whole 16-byte chunks, also of fp32
    decode,  ///< paged_decode: tensor cores and one launch, for what reason_not_to_decode() takes
};

/// The kernel for these parameters. Looks at types, sizes, strides, alignment and which rules there
/// are, never at what a pointer points to. A soft cap or ALiBi is for the general kernel; a window
/// or sinks leave paged_decode what it takes without them.
/// @throws std::invalid_argument as validate_sizes() does
[[nodiscard]] AttentionKernel choose_kernel(const PagedAttentionParams& params);

}  // namespace nanoserve
