// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanoserve/attention/paged_attention_params.hpp>

namespace nanoserve {

/// How far rounding alone can move a result away from the oracle's.
struct RoundingBounds {
    double out = 0.0;  ///< of any element of out
    double lse = 0.0;  ///< of any finite lse
};

/// The bounds of general_attention and its twin, whose sums run in another order than those that
/// rounding_bound() describes.
///
/// Let u = 2^-24, one rounding, and take a query head over n > 0 tokens in T steps, R of which,
/// after the first, find a larger maximum.
///
/// A score is a lane's sum of ceil(head_dim / 32) products, a chain of 32 lanes, and a product with
/// sm_scale, whose default is off by 2u. So it is off by at most ds = (ceil(head_dim / 32) + 36) u
/// S, S being the largest sm_scale * sum |q_i k_i|.
///
/// A weight is off by a factor exp(ds), by 4u for exp (good to 2 units in the last place), and by
/// |x| u for the subtraction of the maximum, x being the exponent. Steps that raise the maximum
/// later add 5u each, 4u for exp and u for the product, and |jump| u, where x and the jumps add up
/// to the weight's final exponent. A step that does not raise it multiplies by 1, which is exact.
/// Weighted by the probabilities p that sum to 1, |x| is on average at most ln n: |x| <= -ln p, and
/// the entropy of n things is at most ln n. A sum takes 8 tokens of a step in one warp, T steps, 4
/// warps. Thus
/// @code
/// sum of weights      off by a factor 1 + e,  e = ds + (16 + T + 5 R + ln n) u
/// sum of weight * v   the same and one product, relative to sum of weight * |v|
/// |out - oracle|   <= max |v| * (2 e + 2 u)      the division adds the second u
/// |lse - oracle|   <= e + 4 u ln n + u (max |score| + ln n)    log good to 2 units, the sum with
/// max
/// @endcode
/// A pool of fp8 has scales, K's multiplied with q and V's with the output: ds counts 37 in place
/// of 36, and 3 u stand in place of 2 u. What they scale is exact. Rules add rule_errors(), and a
/// sink is one more score.
/// All this with exp(x) - 1 in place of x where products of factors 1 + u are meant. A 16-bit
/// output adds half a step of itself, 2^-11 (fp16) or 2^-8 (bf16), and fp16 half its smallest step,
/// 2^-25. What underflows is less than n 2^-126 of a sum that is at least 1. Holds while scores and
/// sums are finite in fp32, with or without fused multiply-adds.
///
/// @return the largest bounds of the batch, 0 for a batch without tokens
/// @throws std::invalid_argument as validate(const PagedAttentionParams&) does; all pointers are
/// host pointers
[[nodiscard]] RoundingBounds paged_attention_rounding_bounds(const PagedAttentionParams& params);

}  // namespace nanoserve
