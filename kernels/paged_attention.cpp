// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <kernels/dispatch.hpp>
#include <kernels/general_attention.hpp>
#include <kernels/paged_attention.hpp>
#include <kernels/paged_decode.hpp>
#include <kernels/shared_heads.hpp>

namespace nanoserve {

void paged_attention(const PagedAttentionParams& params, cudaStream_t stream, std::uint32_t* status,
                     Workspace workspace, LaunchOrder order) {
    switch (choose_kernel(params)) {
        case AttentionKernel::decode:
            return paged_decode(params, stream, status, workspace, order);
        case AttentionKernel::shared_heads:
            return shared_heads_attention(params, stream, status);
        case AttentionKernel::general:
            return general_attention(params, stream, status);
    }
}

std::size_t paged_attention_workspace_bytes(const PagedAttentionParams& params) {
    return choose_kernel(params) == AttentionKernel::decode ? paged_decode_workspace_bytes(params)
                                                            : 0;
}

}  // namespace nanoserve
