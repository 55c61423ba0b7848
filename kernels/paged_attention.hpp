// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanoserve/attention/paged_attention_params.hpp>

#include <cuda_runtime_api.h>
#include <kernels/workspace.hpp>

#include <cstddef>
#include <cstdint>

namespace nanoserve {

/// Decode attention over a paged KV cache on the GPU: the front door. Runs the kernel that
/// choose_kernel() names: paged_decode for what it takes, else shared_heads_attention for what it
/// takes, and general_attention for everything else.
/// The same parameters with the same meaning as for paged_attention_reference; every pointer in
/// them is a device pointer, which must stay valid until the work on `stream` is done.
///
/// Stream-ordered: returns after the launch, allocates nothing, never synchronises, and may be
/// captured in a CUDA graph, whose replays read the lengths and tables of their time. The same
/// inputs give the same bits. num_seqs 0 launches nothing.
///
/// What the host can't see is checked on the device, and never followed: a used table entry outside
/// [0, num_blocks) counts as absent, so its tokens are left out; a seq_len that is negative or more
/// than max_blocks_per_seq * block_size is clamped. Each sets its bit in `status`.
///
/// @param params head_dim a multiple of 8, at most 256; num_seqs * num_q_heads below 2^31; any
/// rules
/// @param stream where to launch
/// @param status one word of device memory that takes bits of ReadStatus and keeps those it has;
/// set it to 0 before the first call. May be nullptr
/// @param workspace of paged_attention_workspace_bytes(), zeros before the first call, not shared
/// by calls that may run at the same time. With it a batch whose lengths differ much keeps all SMs
/// at work; where lengths are alike, one without it is faster. May be empty
/// @param order whether the launch may overlap the end of the kernel before it on the stream; a
/// kernel other than paged_decode never does
/// @throws std::invalid_argument as validate_sizes() does, and for sizes that no kernel takes,
/// before anything is launched
/// @throws CudaError when the launch fails
void paged_attention(const PagedAttentionParams& params, cudaStream_t stream,
                     std::uint32_t* status = nullptr, Workspace workspace = {},
                     LaunchOrder order = LaunchOrder::after_previous);

/// Bytes of a workspace that serves every batch with these sizes on the current device; 0 if none
/// is of use. seq_lens don't matter.
/// @throws std::invalid_argument as validate_sizes() does
/// @throws CudaError when there is no device
[[nodiscard]] std::size_t paged_attention_workspace_bytes(const PagedAttentionParams& params);

}  // namespace nanoserve
