// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanoserve/attention/paged_attention_params.hpp>

#include <kernels/general/attend_head.hpp>
#include <kernels/general/base2.hpp>
#include <kernels/general/host_device.hpp>
#include <kernels/split_kv/merge_parts.hpp>
#include <kernels/split_kv/partials.hpp>

#include <cstdint>

namespace nanoserve {

/// Divides the sums over a whole history and stores them: element d of a row of out and, with the
/// first element, the row's lse. A row is seq * num_q_heads + query head.
NANOSERVE_DEVICE inline void write_element(const PagedAttentionParams& params, std::int64_t row,
                                           std::int32_t d, const ElementSums& sums) {
    const float value = sums.sum == 0.0f ? 0.0f : sums.out / sums.sum;
    store_element(params.out, params.io_dtype, row * params.kv.layout.head_dim + d, value);
    if (d == 0 && params.lse != nullptr) {
        params.lse[row] = lse_of_base2(sums.max, sums.sum);
    }
}

/// The same from the partial results of all splits.
NANOSERVE_DEVICE inline void merge_element(const PagedAttentionParams& params,
                                           const Partials& partials, std::int64_t row,
                                           std::int32_t d) {
    const auto part = [&](int split) { return partials.load(row, split, d); };
    write_element(params, row, d, merge_parts(partials.num_splits, part));
}

}  // namespace nanoserve
