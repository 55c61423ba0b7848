// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanoserve/attention/paged_attention_params.hpp>

#include <vector>

namespace nanoserve {

/// What a read should have produced, in double precision.
struct OracleResult {
    std::vector<double> out;  ///< [num_seqs, num_q_heads, head_dim]
    std::vector<double> lse;  ///< [num_seqs, num_q_heads]
};

/// The same attention in float64, written differently on purpose: element by element through flat
/// slots, one query head after the other, weights taken from the lse. Shares no step with the
/// reads, so that it can check them. params.out may be null.
/// @throws std::invalid_argument as validate(const PagedAttentionParams&) does
[[nodiscard]] OracleResult attention_oracle(PagedAttentionParams params);

/// The largest |out - oracle| over the largest |oracle|: the error of a read as one number. `out`
/// holds elements of `dtype`. NaN in `out` gives infinity.
[[nodiscard]] double relative_error(const void* out, DType dtype, const OracleResult& oracle);

/// The norm of out - oracle over the norm of oracle: the error of all elements together, as the
/// field reports it. `out` holds elements of `dtype`. NaN in `out` gives infinity.
[[nodiscard]] double relative_norm_error(const void* out, DType dtype, const OracleResult& oracle);

}  // namespace nanoserve
