// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanoserve/attention/paged_attention_params.hpp>

namespace nanoserve {

/// The largest |out - oracle| that rounding explains for a read with fp32 arithmetic, given its
/// inputs. What lies outside is a fault of the read.
///
/// With u = 2^-24, one rounding: a score is a sum of head_dim products in 16 lanes, a tree of 4
/// adds and a product with sm_scale, so it is off by at most ds = (head_dim/16 + 6) u S, where S =
/// sm_scale * max over tokens of sum |q_i k_i|. Its weight is then off by a factor of at most 1 +
/// ds + 6u: 4u for exp, 2u for the subtraction of the maximum, whose error |x| u meets a weight
/// e^x, and |x| e^x < 1. A sum of weights runs in 16 lanes and stretches of 64 steps and adds
/// (min(len/16, 64) + len/1024 + 4) u; a sum of weight * v runs in stretches of 64 tokens and adds
/// (min(len, 64) + len/64 + 1) u; the division adds u. Numerator and denominator both carry the
/// weights' error, so
/// @code
/// |out - oracle| <= max |v| * (2 (ds + 6u) + (min(len, 64) + len/64 + min(len/16, 64) + len/1024 +
/// 6) u)
/// @endcode
/// A 16-bit output adds half a step of itself, 2^-11 (fp16) or 2^-8 (bf16), and fp16 half its
/// smallest step, 2^-25. A pool of fp8 has scales: K's is multiplied with sm_scale and V's with the
/// output, so ds counts head_dim/16 + 7 and the last bracket one u more; its elements are taken as
/// they are stored, times the scale. Rules add rule_errors(). Holds while scores and sums are
/// finite in fp32.
///
/// @return the bound, 0 for a batch without tokens
/// @throws std::invalid_argument as validate(const PagedAttentionParams&) does; params.out may be
/// null
[[nodiscard]] double rounding_bound(PagedAttentionParams params);

/// The largest |lse - oracle| of a finite lse that rounding explains for such a read. The sum of
/// the weights carries all the errors in the bracket above and no more, and ln(1 + e) <= e; storing
/// a piece's lse and the whole's adds u |lse| each, where |lse| <= S + ln(len).
/// @throws std::invalid_argument as rounding_bound()
[[nodiscard]] double lse_rounding_bound(PagedAttentionParams params);

/// What the rules of scores add to the errors of a read with fp32 arithmetic, in units of u. A soft
/// cap is a quotient, a tanh good to 2 units in the last place and a product, none of them larger
/// than the score, which it also keeps from growing: 8 S. ALiBi's bias b is a distance, a product
/// and a sum: 3 |b| + S. A sink is one more weight of a sum, and may shrink what was there: 12.
struct RuleErrors {
    double score = 0.0;  ///< of a score
    double sum = 0.0;    ///< of a sum of weights, relative to it
    double lse = 0.0;    ///< by how much an lse may lie further from 0
};

/// The errors under `rules`, for sequences of up to `longest` tokens. largest_score: S above, which
/// bounds the scores before the rules.
[[nodiscard]] RuleErrors rule_errors(const ScoreRules& rules, std::int32_t num_q_heads,
                                     double longest, double largest_score);

/// The same as rounding_bound() for streaming_read. A sequence is taken in chunks: n of them, at
/// most 16 tokens each, none across two blocks. The terms that differ: values and weights are
/// summed by chunk, then over the chunks, (16 + n) u and (6 + n) u; a chunk that moves the maximum
/// multiplies both sums by a factor that is off by 6u, at most n times; merging the pieces adds
/// (num_splits + 8) u. So the second bracket of the formula is (36 + 14 n + num_splits) u.
[[nodiscard]] double streaming_rounding_bound(PagedAttentionParams params,
                                              std::int64_t num_splits = 1);

/// The same as lse_rounding_bound() for streaming_read.
[[nodiscard]] double streaming_lse_rounding_bound(PagedAttentionParams params,
                                                  std::int64_t num_splits = 1);

}  // namespace nanoserve
