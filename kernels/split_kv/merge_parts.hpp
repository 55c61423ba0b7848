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
    float max = -std::numeric_limits<float>::infinity();
    float sum = 0.0f;
    float out = 0.0f;
};

//! [merge parts]
/// The sums over all tokens from those over parts of them, always added up in the order of the
/// parts. `part(i)` gives the ElementSums of part i. A part's sums were made with the maximum of
/// the part; times 2^(its max - largest max) they are what they would have been with the largest. A
/// part without tokens is left out, so its sum and out may hold anything.
template <class Part>
NANOSERVE_DEVICE ElementSums merge_parts(int num_parts, Part part) {
    ElementSums all;
    NANOSERVE_UNROLL_4
    for (int i = 0; i < num_parts; ++i) {
        all.max = std::fmax(all.max, part(i).max);
    }
    NANOSERVE_UNROLL_4
    for (int i = 0; i < num_parts; ++i) {
        const ElementSums sums = part(i);
        if (sums.max != -std::numeric_limits<float>::infinity()) {
            const float factor = base2_weight(sums.max, all.max);
            all.sum += sums.sum * factor;
            all.out += sums.out * factor;
        }
    }
    return all;
}
//! [merge parts]

}  // namespace nanoserve
