// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include "reliability/device_kernels.hpp"

#include "reliability/refusal_of.hpp"
#include "support/device_case.hpp"

#include <kernels/async_copy.hpp>
#include <kernels/async_copy/rounding_bounds.hpp>
#include <kernels/decode/plan.hpp>
#include <kernels/decode/rounding_bounds.hpp>
#include <kernels/dispatch.hpp>
#include <kernels/gather/rounding_bounds.hpp>
#include <kernels/gather_attention.hpp>
#include <kernels/general_attention.hpp>
#include <kernels/paged_attention.hpp>
#include <kernels/paged_decode.hpp>
#include <kernels/shared_heads.hpp>
#include <kernels/shared_heads/rounding_bounds.hpp>
#include <kernels/split_kv.hpp>
#include <kernels/tensor_cores.hpp>

namespace nanoserve::testing {
namespace {

// Calls launch(workspace) with a workspace that lives until the kernel is done.
template <class Launch>
void with_workspace(std::size_t num_bytes, int byte, Launch launch) {
    const DeviceBuffer memory(num_bytes);
    NANOSERVE_CUDA_TRY(cudaMemset(memory.data(), byte, num_bytes));
    launch(Workspace{.data = memory.data(), .num_bytes = num_bytes});
    NANOSERVE_CUDA_TRY(cudaDeviceSynchronize());
}

constexpr int kNaN = 0xff;  // for what a kernel has to write before it reads it

std::optional<std::string> reason_not_general(const PagedAttentionParams& p) {
    return refusal_of([&] { (void)make_paged_attention_args(p, nullptr); });
}

// The front door takes what any kernel does.
std::optional<std::string> reason_for_no_kernel(const PagedAttentionParams& p) {
    return choose_kernel(p) == AttentionKernel::general ? reason_not_general(p) : std::nullopt;
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

constexpr std::int32_t kNumSplits = 5;

void split_kv(const PagedAttentionParams& p, std::uint32_t* status) {
    // What is refused is refused before a workspace is looked at.
    const std::size_t bytes =
        reason_not_to_share_heads(p) ? 16 : split_kv_workspace_bytes(p, kNumSplits);
    with_workspace(bytes, kNaN, [&](const Workspace& workspace) {
        split_kv_attention(p, kNumSplits, workspace.data, workspace.num_bytes, nullptr, status);
    });
}

// async_copy_attention or tensor_core_attention, by the plan for the batch.
template <auto kAttention>
void planned(const PagedAttentionParams& p, std::uint32_t* status) {
    const bool refused = reason_not_to_use_tensor_cores(p).has_value();
    const AsyncCopyPlan plan = refused ? AsyncCopyPlan{} : plan_async_copy(p);
    with_workspace(refused ? 16 : partials_bytes(p, plan.num_splits), kNaN,
                   [&](const Workspace& workspace) {
                       kAttention(p, plan, workspace.data, workspace.num_bytes, nullptr, status);
                   });
}

constexpr DecodePlan kClusters = {.num_warps = 8, .num_splits = 8};
constexpr DecodePlan kBalanced = {.num_warps = 8, .evict_first = true, .balance = true};

void balanced_decode(const PagedAttentionParams& p, std::uint32_t* status) {
    with_workspace(paged_decode_workspace_bytes(p), 0, [&](const Workspace& workspace) {
        paged_decode(p, kBalanced, nullptr, status, workspace);
    });
}

std::optional<std::string> reason_not_to_balance(const PagedAttentionParams& p) {
    if (const auto reason = reason_not_to_decode(p)) {
        return reason;
    }
    if (p.rules.sliding_window > 0 && p.rules.sliding_window < p.max_tokens()) {
        return "a balanced plan has no sliding window";
    }
    if (!can_balance(load_of(p, true))) {
        return "the batch has too many KV heads and tokens for a balanced plan";
    }
    return {};
}

void gather(const PagedAttentionParams& p, std::uint32_t* /*status*/) {
    with_workspace(gather_workspace_bytes(p), kNaN, [&](const Workspace& workspace) {
        gather_attention(p, workspace.data, workspace.num_bytes, nullptr);
    });
}

}  // namespace

std::vector<DeviceKernel> device_kernels() {
    return {
        {.name = "general_attention",
         .launch = [](const auto& p, auto* status) { general_attention(p, nullptr, status); },
         .reason_to_refuse = reason_not_general,
         .bounds = paged_attention_rounding_bounds},
        {.name = "shared_heads_attention",
         .launch = [](const auto& p, auto* status) { shared_heads_attention(p, nullptr, status); },
         .reason_to_refuse = reason_not_to_share_heads,
         .bounds = [](const auto& p) { return shared_heads_rounding_bounds(p); }},
        {.name = "split_kv_attention",
         .launch = split_kv,
         .reason_to_refuse = reason_not_to_share_heads,
         .bounds = [](const auto& p) { return shared_heads_rounding_bounds(p, kNumSplits); }},
        {.name = "async_copy_attention",
         .launch = planned<async_copy_attention>,
         .reason_to_refuse = reason_not_to_copy_async,
         .bounds = async_copy_rounding_bounds},
        {.name = "tensor_core_attention",
         .launch = planned<tensor_core_attention>,
         .reason_to_refuse = reason_not_to_use_tensor_cores,
         .bounds = paged_decode_rounding_bounds,
         .keeps_the_range_of_values = false},
        {.name = "paged_decode",
         .launch = [](const auto& p, auto* status) { paged_decode(p, nullptr, status); },
         .reason_to_refuse = reason_not_to_decode,
         .bounds = paged_decode_rounding_bounds,
         .keeps_the_range_of_values = false},
        {.name = "paged_decode in clusters",
         .launch = [](const auto& p, auto* status) { paged_decode(p, kClusters, nullptr, status); },
         .reason_to_refuse = reason_not_to_decode,
         .bounds = paged_decode_rounding_bounds,
         .keeps_the_range_of_values = false},
        {.name = "paged_decode, balanced",
         .launch = balanced_decode,
         .reason_to_refuse = reason_not_to_balance,
         .bounds = paged_decode_rounding_bounds,
         .keeps_the_range_of_values = false},
        {.name = "paged_attention",
         .launch = [](const auto& p, auto* status) { paged_attention(p, nullptr, status); },
         .reason_to_refuse = reason_for_no_kernel,
         .bounds = front_door_bounds,
         .keeps_the_range_of_values = false},
        {.name = "gather_attention",
         .launch = gather,
         .reason_to_refuse =
             [](const auto& p) { return refusal_of([&] { (void)gather_workspace_bytes(p); }); },
         .bounds = gather_rounding_bounds,
         .tells_absent_blocks = false}};
}

}  // namespace nanoserve::testing
