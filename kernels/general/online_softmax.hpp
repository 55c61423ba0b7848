// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kernels/general/host_device.hpp>

#include <cmath>
#include <limits>

namespace nanoserve {

//! [online softmax]
/// The running maximum of a softmax whose scores arrive a few at a time.
///
/// Sums made before a larger score arrived are sums of exp(score - old max); times exp(old max -
/// new max) they are what they would have been with the new maximum from the start:
/// @code
/// sum = sum * rescale + sum over the new scores of weight(score)
/// @endcode
struct OnlineSoftmax {
    float max = -std::numeric_limits<float>::infinity();  ///< -inf before the first score

    /// Takes in `num_scores` new scores; returns the factor for every sum made so far.
    NANOSERVE_DEVICE float raise_max(const float* scores, int num_scores) {
        const float old_max = max;
        for (int i = 0; i < num_scores; ++i) {
            max = scores[i] > max ? scores[i] : max;
        }
        return weight(old_max);
    }

    /// exp(score - max). Without a finite score so far everything weighs 0: this is the one place
    /// where (-inf) - (-inf) could arise.
    [[nodiscard]] NANOSERVE_DEVICE float weight(float score) const {
        const bool nothing_yet = max == -std::numeric_limits<float>::infinity();
        return std::exp(score - (nothing_yet ? 0.0f : max));
    }

    /// The natural logarithm of the sum of exp(score), from the sum of the weights.
    [[nodiscard]] NANOSERVE_DEVICE float lse(float sum_of_weights) const {
        return sum_of_weights == 0.0f ? -std::numeric_limits<float>::infinity()
                                      : max + std::log(sum_of_weights);
    }
};
//! [online softmax]

}  // namespace nanoserve
