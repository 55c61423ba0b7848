// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <kernels/decode/plan.hpp>
#include <kernels/dispatch.hpp>
#include <kernels/shared_heads/config.hpp>

namespace nanoserve {

AttentionKernel choose_kernel(const PagedAttentionParams& params) {
    validate_sizes(params);
    if (!reason_not_to_decode(params)) {
        return AttentionKernel::decode;
    }
    return reason_not_to_share_heads(params) ? AttentionKernel::general
                                             : AttentionKernel::shared_heads;
}

}  // namespace nanoserve
