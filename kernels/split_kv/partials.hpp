// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanoserve/attention/paged_attention_params.hpp>

#include <kernels/general/host_device.hpp>
#include <kernels/split_kv/merge_parts.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace nanoserve {

/// Where the thread blocks that share a history leave what each of them has summed: three arrays in
/// the caller's workspace. A row is one query head of one sequence, seq * num_q_heads + head. Goes
/// to kernels by value.
struct Partials {
    float* out = nullptr;         ///< [num_rows, num_splits, head_dim], not yet divided
    float* max = nullptr;         ///< [num_rows, num_splits], in base 2; -inf: no tokens
    float* sum = nullptr;         ///< [num_rows, num_splits], of 2^(score - max)
    std::int32_t num_splits = 1;  ///< parts of each row
    std::int32_t head_dim = 0;    ///< elements of a row

    /// Element d of a row, as summed by one split.
    [[nodiscard]] NANOSERVE_DEVICE ElementSums load(std::int64_t row, std::int32_t split,
                                                    std::int32_t d) const {
        const std::int64_t part = row * num_splits + split;
        return {.max = max[part], .sum = sum[part], .out = out[part * head_dim + d]};
    }

    /// The inverse; `max` and `sum` are the same for all elements of a row, and stored with the
    /// first.
    NANOSERVE_DEVICE void store(std::int64_t row, std::int32_t split, std::int32_t d,
                                const ElementSums& sums) const {
        const std::int64_t part = row * num_splits + split;
        out[part * head_dim + d] = sums.out;
        if (d == 0) {
            max[part] = sums.max;
            sum[part] = sums.sum;
        }
    }
};

static_assert(std::is_trivially_copyable_v<Partials>, "a kernel takes them by value");

/// Bytes of workspace for the partial results of a batch of this shape. Reads sizes alone.
/// @throws std::invalid_argument as validate_shape() does, and when num_splits is not 1 to
/// kMaxSplits
[[nodiscard]] std::size_t partials_bytes(const PagedAttentionParams& params,
                                         std::int32_t num_splits);

/// Lays the arrays out in a workspace, which stays the caller's.
/// @param params sizes alone
/// @param num_splits parts of each history, at least 1
/// @param workspace partials_bytes(params, num_splits) bytes at least, aligned to 16
/// @param workspace_bytes what the caller has there
/// @throws std::invalid_argument naming what is wrong: too few bytes, a null or unaligned workspace
[[nodiscard]] Partials partials_in(const PagedAttentionParams& params, std::int32_t num_splits,
                                   void* workspace, std::size_t workspace_bytes);

}  // namespace nanoserve
