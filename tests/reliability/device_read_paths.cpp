// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// The kernels. Each read copies everything that the host parameters point at, poison included, to
// the device and the results back.
#include "reliability/read_path.hpp"
#include "support/device_case.hpp"

#include <kernels/async_copy.hpp>
#include <kernels/async_copy/rounding_bounds.hpp>
#include <kernels/decode/plan.hpp>
#include <kernels/decode/rounding_bounds.hpp>
#include <kernels/device.hpp>
#include <kernels/dispatch.hpp>
#include <kernels/general_attention.hpp>
#include <kernels/paged_attention.hpp>
#include <kernels/paged_decode.hpp>
#include <kernels/shared_heads.hpp>
#include <kernels/shared_heads/rounding_bounds.hpp>
#include <kernels/split_kv.hpp>
#include <kernels/tensor_cores.hpp>

#include <stdexcept>

namespace nanoserve::testing {
namespace {

// A kernel over device parameters and a status word.
using Kernel = std::function<void(const PagedAttentionParams&, std::uint32_t*)>;

std::uint32_t read_on_device(const Kernel& kernel, const PagedAttentionParams& host) {
    DeviceCase device(host);
    device.poison_outputs();
    kernel(device.params(), device.status());
    const DeviceResult result = device.result();
    std::memcpy(host.out, result.out.data(), result.out.size());
    if (host.lse != nullptr) {
        std::memcpy(host.lse, result.lse.data(), result.lse.size() * sizeof(float));
    }
    return result.status;
}

// Calls launch(workspace), a workspace of zeros that lives until the kernel is done.
template <class Launch>
void with_workspace(std::size_t num_bytes, Launch launch) {
    const DeviceBuffer memory(std::vector<std::byte>(num_bytes, std::byte{0}));
    launch(Workspace{.data = memory.data(), .num_bytes = num_bytes});
    NANOSERVE_CUDA_TRY(cudaDeviceSynchronize());
}

std::optional<std::string> reason_not_general(const PagedAttentionParams& p) {
    try {
        (void)make_paged_attention_args(p, nullptr);
    } catch (const std::invalid_argument& error) {
        return error.what();
    }
    return {};
}

// The front door takes what any kernel does.
std::optional<std::string> reason_for_no_kernel(const PagedAttentionParams& p) {
    return choose_kernel(p) == AttentionKernel::general ? reason_not_general(p) : std::nullopt;
}

constexpr std::int32_t kNumSplits = 5;

// async_copy_attention or tensor_core_attention, by the plan for the batch. What is refused is
// refused before a workspace is looked at.
template <auto kAttention>
void planned(const PagedAttentionParams& p, std::uint32_t* status) {
    const bool refused = reason_not_to_use_tensor_cores(p).has_value();
    const AsyncCopyPlan plan = refused ? AsyncCopyPlan{} : plan_async_copy(p);
    with_workspace(refused ? 16 : partials_bytes(p, plan.num_splits),
                   [&](const Workspace& workspace) {
                       kAttention(p, plan, workspace.data, workspace.num_bytes, nullptr, status);
                   });
}

RoundingBounds front_door_bounds(const PagedAttentionParams& p) {
    switch (choose_kernel(p)) {
        case AttentionKernel::decode:
            return paged_decode_rounding_bounds(p);
        case AttentionKernel::shared_heads:
            return shared_heads_rounding_bounds(p);
        case AttentionKernel::general:
            break;
    }
    return paged_attention_rounding_bounds(p);
}

}  // namespace

std::vector<ReadPath> read_paths() {
    const auto path = [](const char* name, const Kernel& kernel, auto reason_to_refuse,
                         auto bounds) {
        return ReadPath{.name = name,
                        .read = [kernel](const auto& p) { return read_on_device(kernel, p); },
                        .reason_to_refuse = reason_to_refuse,
                        .bounds = bounds};
    };
    std::vector<ReadPath> paths = {
        path(
            "general_attention",
            [](const auto& p, auto* status) { general_attention(p, nullptr, status); },
            reason_not_general, paged_attention_rounding_bounds),
        path(
            "shared_heads_attention",
            [](const auto& p, auto* status) { shared_heads_attention(p, nullptr, status); },
            reason_not_to_share_heads,
            [](const auto& p) { return shared_heads_rounding_bounds(p); }),
        path(
            "split_kv_attention",
            [](const auto& p, auto* status) {
                // What is refused is refused before a workspace is looked at.
                const std::size_t bytes =
                    reason_not_to_share_heads(p) ? 16 : split_kv_workspace_bytes(p, kNumSplits);
                with_workspace(bytes, [&](const Workspace& workspace) {
                    split_kv_attention(p, kNumSplits, workspace.data, workspace.num_bytes, nullptr,
                                       status);
                });
            },
            reason_not_to_share_heads,
            [](const auto& p) { return shared_heads_rounding_bounds(p, kNumSplits); }),
        path("async_copy_attention", planned<async_copy_attention>, reason_not_to_copy_async,
             async_copy_rounding_bounds),
        path("tensor_core_attention", planned<tensor_core_attention>,
             reason_not_to_use_tensor_cores, paged_decode_rounding_bounds),
        path(
            "paged_decode", [](const auto& p, auto* status) { paged_decode(p, nullptr, status); },
            reason_not_to_decode, paged_decode_rounding_bounds),
        path(
            "paged_decode with a workspace",
            [](const auto& p, auto* status) {
                with_workspace(paged_decode_workspace_bytes(p), [&](const Workspace& workspace) {
                    paged_decode(p, nullptr, status, workspace);
                });
            },
            reason_not_to_decode, paged_decode_rounding_bounds),
        path(
            "paged_attention",
            [](const auto& p, auto* status) { paged_attention(p, nullptr, status); },
            reason_for_no_kernel, front_door_bounds)};
    for (ReadPath& each : paths) {
        each.keeps_the_range_of_values =
            !each.name.starts_with("paged_") && each.name != "tensor_core_attention";
    }
    return paths;
}

std::optional<std::string> reason_for_no_paths() {
    return reason_for_no_device();
}

}  // namespace nanoserve::testing
