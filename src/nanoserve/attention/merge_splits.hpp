// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanoserve/model/dtype.hpp>

#include <cstdint>

namespace nanoserve {

/// Partial results of attention over pieces of the same histories, and where to put the whole.
struct MergeSplitsParams {
    const float* out_partial =
        nullptr;  ///< [num_splits, num_rows, head_dim], each already divided by its sum
    const float* lse_partial =
        nullptr;                  ///< [num_splits, num_rows], natural logarithm, -inf: no tokens
    std::int64_t num_splits = 0;  ///< pieces
    std::int64_t num_rows = 0;    ///< num_seqs x num_q_heads
    std::int64_t head_dim = 0;    ///< elements in one row

    void* out = nullptr;            ///< [num_rows, head_dim], elements of out_dtype
    DType out_dtype = DType::fp32;  ///< element type of out; not fp8_e4m3
    float* lse = nullptr;           ///< [num_rows]; may be nullptr
};

/// Combines the pieces, row by row, in the order of their index:
/// @code
/// w_i = exp(lse_i - max lse);  out = sum over i of w_i * out_i / sum over i of w_i
/// lse = max lse + ln(sum over i of w_i)
/// @endcode
/// The weights are divided by their own sum and not taken from the rounded lse: of scores around
/// 80000 that one would be off by 0.4 %, and equal values would no longer come out equal.
/// A piece without tokens is not looked at, so its out may hold NaN; with no tokens at all out = 0
/// and lse = -inf. Only -inf says that: a piece whose lse is +inf, which some libraries give to a
/// row without tokens, or NaN makes the row NaN.
/// @throws std::invalid_argument on negative counts, pointers that are null or between two
/// elements, or an out_dtype that no output has
void merge_splits(const MergeSplitsParams& params);

}  // namespace nanoserve
