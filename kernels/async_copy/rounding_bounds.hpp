// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kernels/general/rounding_bounds.hpp>

namespace nanoserve {

/// The bounds of async_copy_attention, all of whose arithmetic is fp32. tensor_core_attention has
/// those of paged_decode.
///
/// Let u = 2^-24, one rounding, and take a query head over n > 0 tokens.
///
/// A score is a lane's chain of 8 products, at most 4 rounds of a sum over lanes, and a product
/// with the scale, itself off by 4u (the default sm_scale by 2u, log2 e and the product by one
/// each): off by at most ds = 17 u S, S being the largest |sm_scale| * sum |q_i k_i|.
///
/// A weight is off by a factor exp(ds), by 4u for 2^x (good to 2 units in the last place), and by
/// |x| u for the subtraction of the maximum, on average at most ln n (see
/// paged_attention_rounding_bounds). A sum takes at most n weights; 5u, for 2^x and a product, each
/// time that the maximum moves, at most once for each of n / 16 + 1 tiles; 4 rounds over lanes; and
/// two merges, 8 parts at a time. Up to 8 warps: 5u and 8 parts. Up to 32 splits: 5u, 32 parts, and
/// 5u each time that the sum so far moves, at most 3 times. Thus
/// @code
/// sum of weights      off by a factor 1 + e,  e = ds + (n + 5 n / 16 + ln n + 78) u
/// sum of weight * v   the same and one product, relative to sum of weight * |v|
/// |out - oracle| <= max |v| * (2 e + 2 u)      the division adds the second u
/// |lse - oracle| <= e + 4 u (max |score| + ln n)      log2 good to 2 units, factors and sums
/// @endcode
/// with exp(x) - 1 in place of x where products of factors 1 + u are meant, and half a step of a
/// 16-bit output besides.
///
/// @return the largest bounds of the batch, 0 for a batch without tokens
/// @throws std::invalid_argument as validate(const PagedAttentionParams&) does; all pointers are
/// host pointers
[[nodiscard]] RoundingBounds async_copy_rounding_bounds(const PagedAttentionParams& params);

}  // namespace nanoserve
