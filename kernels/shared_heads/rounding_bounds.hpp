// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kernels/general/rounding_bounds.hpp>

#include <cstdint>

namespace nanoserve {

/// The bounds of shared_heads_attention, of split_kv_attention and of their twin.
///
/// Let u = 2^-24, one rounding, and take a query head over n > 0 tokens.
///
/// A score in base 2 is a lane's sum of at most 8 products and 5 exchanges. Each element of q was
/// multiplied by sm_scale * log2 e: 5 roundings, of log2 e, of the default sm_scale (2), of their
/// product and of the one with q. So e^score is off by a factor exp(ds), ds = (8 + 1 + 5 + 5) u S,
/// S being the largest |sm_scale| * sum |q_i k_i|.
///
/// A weight is off by that, and by 4u for 2^x (good to 2 units in the last place). Then it goes
/// through three kinds of steps, some of which move it to a larger maximum: 4u for 2^x, u for the
/// product.
///   - T tiles of its reader, T being n / (warps * tokens of a tile), rounded up: 4 weights are
///     added, u each, and the sums may move;
///   - the merge of a warp's readers: it may move once, and there are 5 additions at most;
///   - a merge of 8 warps at most, and one of num_splits splits: each may move, and all are added,
///     8 at a time, after which the sum may move again.
/// The exponents x of a weight and of the factors that move it have the same sign and add up to its
/// final one, so what their subtractions are rounded by adds up to |x| u. Weighted by the
/// probabilities it is on average at most ln n u (see paged_attention_rounding_bounds). Thus
/// @code
/// sum of weights      off by a factor 1 + e,
///                     e = ds + (4 + 9 T + (5 + 5) + (5 + 8) + (5 + 2 num_splits) + ln n) u
/// sum of weight * v   the same and one product, relative to sum of weight * |v|
/// |out - oracle|   <= max |v| * (2 e + 2 u)      the division adds the second u
/// |lse - oracle|   <= e + 4 u ln n + 3 u (max |score| + ln n)    log2 good to 2 units; the sum
///                     with max, ln 2 and the product with it
/// @endcode
/// with exp(x) - 1 in place of x where products of factors 1 + u are meant. A 16-bit output adds
/// half a step of itself, as for paged_attention_rounding_bounds. What underflows is less than
/// n 2^-126 of a sum that is at least 1. Holds while scores and sums are finite in fp32, with or
/// without fused multiply-adds.
///
/// @param params the batch; all pointers are host pointers
/// @param num_splits parts that each history is cut into
/// @return the largest bounds of the batch, 0 for a batch without tokens
/// @throws std::invalid_argument as validate(const PagedAttentionParams&) does
[[nodiscard]] RoundingBounds shared_heads_rounding_bounds(const PagedAttentionParams& params,
                                                          std::int32_t num_splits = 1);

}  // namespace nanoserve
