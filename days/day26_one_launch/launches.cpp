// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include "plans.hpp"

#include <nanoserve/model/require.hpp>

#include <gpu_bench/decode_day.hpp>
#include <kernels/paged_attention.hpp>
#include <kernels/paged_decode.hpp>

namespace nanoserve::gpu_bench {
namespace {

// Only a plan that balances makes use of a workspace.
std::optional<std::string> reason_not_to_balance(const PagedAttentionParams& params) {
    if (auto reason = reason_not_to_decode(params)) {
        return reason;
    }
    if (!day26::plan_of(params, true).balance) {
        return "the plan is the same with a workspace";
    }
    return {};
}

DecodeLaunch launch_of(DecodePlan plan) {
    return {.read = day26::name_of(plan),
            .launch =
                [plan](const PagedAttentionParams& params, const Workspace&, cudaStream_t stream) {
                    DecodePlan whole = plan;
                    whole.evict_first = day26::plan_of(params).evict_first;
                    paged_decode(params, whole, stream);
                },
            .reason_not_to =
                [plan](const PagedAttentionParams& params) {
                    return day26::reason_to_skip(params, plan);
                }};
}

}  // namespace

std::vector<DecodeLaunch> decode_launches() {
    std::vector<DecodeLaunch> launches = {
        {.read = "paged_attention",
         .launch = [](const PagedAttentionParams& params, const Workspace&,
                      cudaStream_t stream) { paged_attention(params, stream); }},
        {.read = "paged_attention_balanced",
         .launch = [](const PagedAttentionParams& params, const Workspace& workspace,
                      cudaStream_t stream) { paged_attention(params, stream, nullptr, workspace); },
         .workspace_bytes = paged_attention_workspace_bytes,
         .reason_not_to = reason_not_to_balance},
        {.read = "paged_attention_overlapping",
         .launch =
             [](const PagedAttentionParams& params, const Workspace&, cudaStream_t stream) {
                 paged_attention(params, stream, nullptr, {}, LaunchOrder::overlapping_previous);
             },
         .reason_not_to = reason_not_to_decode}};
    for (const DecodePlan& plan : day26::swept_plans()) {
        launches.push_back(launch_of(plan));
    }
    return launches;
}

}  // namespace nanoserve::gpu_bench
