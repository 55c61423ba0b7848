// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <nanoserve/model/require.hpp>

#include <kernels/split_kv/partials.hpp>
#include <kernels/split_kv/split_history.hpp>

namespace nanoserve {
namespace {

std::size_t num_parts(const PagedAttentionParams& params, std::int32_t num_splits) {
    validate_shape(params);
    require(num_splits >= 1 && num_splits <= kMaxSplits, "num_splits is ", num_splits,
            "; it must be 1 to ", kMaxSplits);
    return static_cast<std::size_t>(params.num_seqs) *
           static_cast<std::size_t>(params.num_q_heads) * static_cast<std::size_t>(num_splits);
}

}  // namespace

std::size_t partials_bytes(const PagedAttentionParams& params, std::int32_t num_splits) {
    const auto head_dim = static_cast<std::size_t>(params.kv.layout.head_dim);
    return num_parts(params, num_splits) * (head_dim + 2) * sizeof(float);
}

Partials partials_in(const PagedAttentionParams& params, std::int32_t num_splits, void* workspace,
                     std::size_t workspace_bytes) {
    const std::size_t wanted = partials_bytes(params, num_splits);
    require(workspace_bytes >= wanted, "workspace_bytes is ", workspace_bytes, "; ", num_splits,
            " splits need ", wanted);
    require(wanted == 0 || workspace != nullptr, "workspace is null");
    require(reinterpret_cast<std::uintptr_t>(workspace) % 16 == 0,
            "workspace must be a multiple of 16 bytes");
    if (wanted == 0) {
        return {.num_splits = num_splits, .head_dim = params.kv.layout.head_dim};
    }
    const std::size_t parts = num_parts(params, num_splits);
    auto* const out = static_cast<float*>(workspace);
    float* const max = out + parts * static_cast<std::size_t>(params.kv.layout.head_dim);
    return {.out = out,
            .max = max,
            .sum = max + parts,
            .num_splits = num_splits,
            .head_dim = params.kv.layout.head_dim};
}

}  // namespace nanoserve
