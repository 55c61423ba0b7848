// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <gpu_bench/decode_day.hpp>
#include <kernels/paged_attention.hpp>

namespace nanoserve::gpu_bench {

std::vector<DecodeLaunch> decode_launches() {
    return {
        {.read = "paged_attention",
         .launch = [](const PagedAttentionParams& params, const Workspace& workspace,
                      cudaStream_t stream) { paged_attention(params, stream, nullptr, workspace); },
         .workspace_bytes = paged_attention_workspace_bytes}};
}

}  // namespace nanoserve::gpu_bench
