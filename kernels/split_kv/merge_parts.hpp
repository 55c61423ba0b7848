// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kernels/general/base2.hpp>
#include <kernels/general/host_device.hpp>

#include <cmath>
#include <limits>

namespace nanoserve {

/// What attention over some of a history's tokens has summed, for one element of one query head's
/// output: with scores in base 2,
/// @code
/// max = largest score;  sum = sum of 2^(score - max);  out = sum of 2^(score - max) * v
/// @endcode
/// Without tokens: -inf, 0, 0. The output over all tokens is out / sum.
struct ElementSums {
    float max = -std::numeric_limits<float>::infinity();  ///< in base 2
    float sum = 0.0f;                                     ///< of the weights
    float out = 0.0f;                                     ///< of weight * v, not yet divided
};

/// The maximum that a part with these sums gives to a merge: NaN when its sum is, because a maximum
/// leaves NaN out, and -inf would say that the part had no tokens.
NANOSERVE_DEVICE inline float told_max(float max, float sum) {
    return sum == sum ? max : sum;
}

//! [merge parts]
/// The sums over all tokens from those over parts of them, always added up in the order of the
/// parts. `part(i)` gives the ElementSums of part i. A part's sums were made with the maximum of
/// the part; times 2^(its max - largest max) they are what they would have been with the largest. A
/// part without tokens is left out, so its sum and out may hold anything; one whose maximum is NaN
/// makes all of the sums NaN.
template <class Part>
NANOSERVE_DEVICE ElementSums merge_parts(int num_parts, Part part) {
    constexpr int kTogether = 8;  // parts that are asked for before the first is used
    ElementSums all;
    for (int first = 0; first < num_parts; first += kTogether) {
        ElementSums parts[kTogether];
        float max = all.max;
        NANOSERVE_UNROLL
        for (int i = 0; i < kTogether; ++i) {
            parts[i] = first + i < num_parts ? part(first + i) : ElementSums{};
            max = std::fmax(max, parts[i].max);
        }
        const float rescale = base2_weight(all.max, max);
        all = {max, all.sum * rescale, all.out * rescale};
        NANOSERVE_UNROLL
        for (int i = 0; i < kTogether; ++i) {
            if (parts[i].max != -std::numeric_limits<float>::infinity()) {
                const float factor = base2_weight(parts[i].max, max);
                all.sum += parts[i].sum * factor;
                all.out += parts[i].out * factor;
            }
        }
    }
    all.max = told_max(all.max, all.sum);
    return all;
}
//! [merge parts]

}  // namespace nanoserve
