// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <gpu_bench/decode_day.hpp>
#include <kernels/async_copy.hpp>
#include <kernels/tensor_cores.hpp>

namespace nanoserve::gpu_bench {
namespace {

using Attention = void (*)(const PagedAttentionParams&, const AsyncCopyPlan&, void*, std::size_t,
                           cudaStream_t, std::uint32_t*);

DecodeLaunch launch_of(const char* read, Attention attention,
                       std::optional<std::string> (*reason_not_to)(const PagedAttentionParams&)) {
    return {.read = read,
            .launch =
                [attention](const PagedAttentionParams& params, const Workspace& workspace,
                            cudaStream_t stream) {
                    attention(params, plan_async_copy(params), workspace.data, workspace.num_bytes,
                              stream, nullptr);
                },
            .workspace_bytes =
                [](const PagedAttentionParams& params) {
                    return partials_bytes(params, plan_async_copy(params).num_splits);
                },
            .reason_not_to = reason_not_to};
}

}  // namespace

std::vector<DecodeLaunch> decode_launches() {
    return {launch_of("async_copy", async_copy_attention, reason_not_to_copy_async),
            launch_of("tensor_cores", tensor_core_attention, reason_not_to_use_tensor_cores)};
}

}  // namespace nanoserve::gpu_bench
