// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <kernels/decode/plan.hpp>
#include <kernels/dispatch.hpp>

namespace nanoserve {

AttentionKernel choose_kernel(const PagedAttentionParams& params) {
    validate_sizes(params);
    return reason_not_to_decode(params) ? AttentionKernel::general : AttentionKernel::decode;
}

}  // namespace nanoserve
