// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include "cells.hpp"

#include <gpu_bench/decode_day.hpp>
#include <kernels/async_copy.hpp>
#include <kernels/split_kv.hpp>

namespace nanoserve::gpu_bench {
namespace {

// async_copy_attention, cut up as plan_of(params) says.
template <class PlanOf>
DecodeLaunch launch_of(const std::string& read, PlanOf plan_of) {
    return {.read = read,
            .launch =
                [plan_of](const PagedAttentionParams& params, const Workspace& workspace,
                          cudaStream_t stream) {
                    async_copy_attention(params, plan_of(params), workspace.data,
                                         workspace.num_bytes, stream);
                },
            .workspace_bytes =
                [plan_of](const PagedAttentionParams& params) {
                    return partials_bytes(params, plan_of(params).num_splits);
                },
            .reason_not_to = reason_not_to_copy_async};
}

}  // namespace

std::vector<DecodeLaunch> decode_launches() {
    std::vector<DecodeLaunch> launches = {
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
         .reason_not_to = reason_not_to_share_heads},
        launch_of("async_copy",
                  [](const PagedAttentionParams& params) { return plan_async_copy(params); })};
    for (int num_stages = 1; num_stages <= 6; ++num_stages) {
        launches.push_back(launch_of("stages_" + std::to_string(num_stages),
                                     [num_stages](const PagedAttentionParams& params) {
                                         return day24::with_stages(plan_async_copy(params),
                                                                   num_stages,
                                                                   params.kv.layout.head_dim);
                                     }));
    }
    return launches;
}

}  // namespace nanoserve::gpu_bench
