// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kernels/general/host_device.hpp>

#include <cmath>
#include <limits>

#if defined(__CUDACC__)
#include <kernels/decode/ptx.cuh>
#endif

// Softmax in base 2: a GPU has one instruction for 2^x and none for e^x. With scores that were
// multiplied by log2(e) once, in the scale, 2^score is what e^score was before.

namespace nanoserve {

constexpr float kLog2E = 1.44269504f;  ///< log2(e), the factor from natural scores to base 2
constexpr float kLn2 = 0.693147181f;   ///< ln(2), the factor back

/// 2^x, off by at most 2 units in the last place; 2^-inf is 0.
NANOSERVE_DEVICE inline float power_of_two(float x) {
#if defined(__CUDA_ARCH__)
    return ptx::exp2(x);
#else
    return std::exp2(x);
#endif
}

/// 2^(score - max), and 0 where even the maximum is -inf: the one place where (-inf) - (-inf) could
/// arise.
NANOSERVE_DEVICE inline float base2_weight(float score, float max) {
    return power_of_two(score - (max == -std::numeric_limits<float>::infinity() ? 0.0f : max));
}

/// The natural lse of a maximum in base 2 and a sum of weights; -inf for a sum of 0.
NANOSERVE_DEVICE inline float lse_of_base2(float max, float sum) {
    return sum == 0.0f ? -std::numeric_limits<float>::infinity() : (max + std::log2(sum)) * kLn2;
}

}  // namespace nanoserve
