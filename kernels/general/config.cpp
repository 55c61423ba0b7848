// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <nanoserve/model/require.hpp>

#include <kernels/general/config.hpp>

#include <limits>

namespace nanoserve {

PagedAttentionArgs make_paged_attention_args(const PagedAttentionParams& params,
                                             std::uint32_t* status) {
    validate_sizes(params);
    require_aligned("status", status, sizeof *status);
    const std::int32_t head_dim = params.kv.layout.head_dim;
    require(head_dim % 8 == 0 && head_dim <= 256, "head_dim is ", head_dim,
            "; general_attention takes multiples of 8 up to 256");
    constexpr std::int64_t kMaxThreadBlocks = std::numeric_limits<std::int32_t>::max();
    require(params.num_seqs <= kMaxThreadBlocks / params.num_q_heads, "num_seqs is ",
            params.num_seqs, "; with ", params.num_q_heads, " query heads a grid holds ",
            kMaxThreadBlocks / params.num_q_heads);
    return {.params = params,
            .q_stride = params.q_stride != 0 ? params.q_stride
                                             : std::int64_t{params.num_q_heads} * head_dim,
            .sm_scale = effective_sm_scale(params.sm_scale, head_dim),
            .status = status};
}

}  // namespace nanoserve
