// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanoserve/attention/paged_attention_params.hpp>

#include <kernels/general/rounding_bounds.hpp>

namespace nanoserve {

/// The bounds of gather_attention. As paged_attention_rounding_bounds() has them, with u = 2^-24
/// and n tokens, but for the order of the sums:
///
/// A score is a lane's sum of ceil(head_dim / 32) products, five additions across the lanes, and a
/// product with sm_scale and K's scales, which are off by 4u: ds = (ceil(head_dim / 32) + 10) u S.
///
/// Each of 4 warps takes every fourth group of 4 tokens, G groups, R of which, after its first,
/// find a larger maximum. It adds up 4 G weights in one chain. Thus
/// @code
/// e = ds + (16 + 4 G + 5 R + ln n) u      of the warp with the largest
/// |out - oracle|   <= max |v| * (2 e + 4 u)     the division, and V's scales
/// |lse - oracle|   <= e + 4 u ln n + u (max |score| + ln n)
/// @endcode
/// with exp(x) - 1 in place of x, and what the type of the output adds.
///
/// @return the largest bounds of the batch, 0 for a batch without tokens
/// @throws std::invalid_argument as validate(const PagedAttentionParams&) does; all pointers are
/// host pointers
[[nodiscard]] RoundingBounds gather_rounding_bounds(const PagedAttentionParams& params);

}  // namespace nanoserve
