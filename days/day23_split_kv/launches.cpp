// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <gpu_bench/decode_day.hpp>
#include <kernels/shared_heads.hpp>
#include <kernels/split_kv.hpp>

namespace nanoserve::gpu_bench {

std::vector<DecodeLaunch> decode_launches() {
    return {{.read = "shared_heads",
             .launch = [](const PagedAttentionParams& params, const Workspace&,
                          cudaStream_t stream) { shared_heads_attention(params, stream); },
             .reason_not_to = reason_not_to_share_heads},
            {.read = "split_kv",
             .launch =
                 [](const PagedAttentionParams& params, const Workspace& workspace,
                    cudaStream_t stream) {
                     split_kv_attention(params, choose_num_splits(params), workspace.data,
                                        workspace.num_bytes, stream);
                 },
             .workspace_bytes =
                 [](const PagedAttentionParams& params) {
                     return split_kv_workspace_bytes(params, choose_num_splits(params));
                 },
             .reason_not_to = reason_not_to_share_heads}};
}

}  // namespace nanoserve::gpu_bench
