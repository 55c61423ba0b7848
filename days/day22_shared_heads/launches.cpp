// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <gpu_bench/decode_day.hpp>
#include <kernels/general_attention.hpp>
#include <kernels/shared_heads.hpp>

namespace nanoserve::gpu_bench {

std::vector<DecodeLaunch> decode_launches() {
    return {{.read = "general_attention",
             .launch = [](const PagedAttentionParams& params, const Workspace&,
                          cudaStream_t stream) { general_attention(params, stream); }},
            {.read = "shared_heads",
             .launch = [](const PagedAttentionParams& params, const Workspace&,
                          cudaStream_t stream) { shared_heads_attention(params, stream); },
             .reason_not_to = reason_not_to_share_heads}};
}

}  // namespace nanoserve::gpu_bench
