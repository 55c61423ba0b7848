// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <gpu_bench/decode_day.hpp>
#include <kernels/paged_attention.hpp>

namespace nanoserve::gpu_bench {

std::vector<DecodeLaunch> decode_launches() {
    // Without a workspace, as Day 26 does: with one, long batches are cut up for lengths that
    // differ.
    return {{.read = "paged_attention",
             .launch = [](const PagedAttentionParams& params, const Workspace&,
                          cudaStream_t stream) { paged_attention(params, stream); }}};
}

}  // namespace nanoserve::gpu_bench
