// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanoserve/attention/instruction_set.hpp>
#include <nanoserve/model/dtype.hpp>

#include <cstddef>
#include <cstdint>

namespace nanoserve::detail {

/// num_rows rows of head_dim elements each, row_stride elements apart: the K or V rows of one KV
/// head in one block, or in a whole contiguous history.
struct Rows {
    const void* data = nullptr;
    std::int64_t element_bytes = 0;
    std::int64_t row_stride = 0;  ///< elements
    std::int64_t num_rows = 0;
    std::int64_t head_dim = 0;

    /// Rows [first, first + count) of these.
    [[nodiscard]] Rows part(std::int64_t first, std::int64_t count) const {
        const auto* bytes = static_cast<const std::byte*>(data);
        return {bytes + first * row_stride * element_bytes, element_bytes, row_stride, count,
                head_dim};
    }
};

/// Row h of the query heads of one group starts at data + h * stride.
struct HeadMajor {
    float* data = nullptr;
    std::int64_t stride = 0;  ///< elements
};

/// max and sum of a row of scores: sum = sum over t of exp(score[t] - max).
struct SoftmaxSums {
    float max = 0.0f;
    float sum = 0.0f;
};

/// The steps that every read on the CPU is made of. Gather + SDPA and the reference call the same
/// steps on the same rows in the same token order, so their results have the same bits.
struct RowOps {
    /// scores[h][t] = sm_scale * dot(q[h], row t), for the num_heads query heads of a group at
    /// once: a row is loaded once for up to four of them. q is [num_heads, head_dim] fp32.
    void (*score_rows)(const float* q, std::int64_t num_heads, Rows k, float sm_scale,
                       HeadMajor scores);

    /// In place: scores[t] becomes exp(scores[t] - max). A row that is all -inf becomes all 0, with
    /// sum 0.
    SoftmaxSums (*exponentiate)(float* scores, std::int64_t num_tokens);

    /// out[h][d] += weights[h][t] * row t [d], token after token. out is [num_heads, head_dim]
    /// fp32.
    void (*accumulate_rows)(HeadMajor weights, std::int64_t num_heads, Rows v, float* out);
};

/// The steps compiled for one instruction set and one storage type of the pool.
[[nodiscard]] const RowOps& row_ops(InstructionSet set, DType dtype);

}  // namespace nanoserve::detail
