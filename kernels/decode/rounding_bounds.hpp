// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kernels/general/rounding_bounds.hpp>

namespace nanoserve {

/// The bounds of paged_decode, whose products run on tensor cores and whose weights are rounded to
/// the pool's type, or to fp16 for a pool of fp8, before they meet the values.
///
/// Let u = 2^-23, which bounds one addition inside a tensor core product (they may cut off instead
/// of rounding), and take a query head over n > 0 tokens.
///
/// A score is a sum of head_dim products, at most two chains more, and a product with the scale,
/// itself off by 2u: off by at most ds = (head_dim + 6) u S, S being the largest |sm_scale| * sum
/// |q_i k_i|. A weight is off by a factor exp(ds), by 2u for 2^x, by |x| u for the subtraction of
/// the maximum, on average at most ln n (see paged_attention_rounding_bounds), and by the rounding
/// to 16 bits: r = 2^-8 (bf16) or 2^-11 (fp16), and for fp16 also 2^-25 of the largest weight.
/// A sum takes n weights, a product with each new maximum, at most one for each of the n / 16
/// tiles, and merges of 8 warps and 8 parts: n + n / 4 + 64 additions and products. The sum of
/// weights and the sum of weight * v are made of the same rounded weights. Thus
/// @code
/// each is off by a factor 1 + e,  e = ds + r + (n 2^-25 for fp16) + (5 n / 4 + ln n + 70) u
/// |out - oracle| <= max |v| * 2 e      and half a step of the output
/// |lse - oracle| <= e + 4 u (max |score| + ln n)
/// @endcode
/// with exp(x) - 1 in place of x where products of factors 1 + u are meant. A sink is one more
/// score, and adds rule_errors().
///
/// For a pool of fp8, whose elements are fp16 numbers exactly, r is that of fp16. The scale of K is
/// one more product of a score, that of V one of out: u in ds and in e. A bf16 q becomes fp16: each
/// head's is multiplied by the power of two that brings its largest element to [2^15, 2^16), so
/// only what is then below 2^-14 is rounded, by at most 2^-25, which is 2^-40 of the largest: 2^-40
/// Q more in ds, Q being the largest |sm_scale| * max |q_i| * sum |k_i|. (A head whose largest |q|
/// is below 2^-110 is multiplied by 2^126 only.)
///
/// @return the largest bounds of the batch, 0 for a batch without tokens
/// @throws std::invalid_argument as validate(const PagedAttentionParams&) does; all pointers are
/// host pointers
[[nodiscard]] RoundingBounds paged_decode_rounding_bounds(const PagedAttentionParams& params);

}  // namespace nanoserve
