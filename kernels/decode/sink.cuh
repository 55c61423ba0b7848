// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kernels/decode/ptx.cuh>

namespace nanoserve {

/// What a sum of weights 2^(score - max), max in units of ln 2, makes of the sum of weight * value.
struct SoftmaxEnd {
    float factor;    ///< on the sum of weight * value
    float max, sum;  ///< of all weights, the sink's included

    /// The natural logarithm of the sum of exp(score).
    [[nodiscard]] __device__ float lse() const {
        constexpr float kLn2 = 0.693147181f;
        return sum == 0.0f ? -INFINITY : (max + log2f(sum)) * kLn2;  // a NaN stays one
    }
};

/// The end of query head `head`'s softmax.
/// @param sinks [num_heads] scores without a value, in natural units, -inf: none; or nullptr
__device__ inline SoftmaxEnd end_of_softmax(float max, float sum, const float* sinks, int head,
                                            int num_heads) {
    constexpr float kLog2E = 1.44269504f;
    float shrink = 1.0f;
    if (sinks != nullptr && head < num_heads) {
        const float sink = ptx::load(sinks + head) * kLog2E;
        const float larger = fmaxf(max, sink);
        const float reference = larger == -INFINITY ? 0.0f : larger;
        shrink = ptx::exp2(max - reference);
        sum = sum * shrink + ptx::exp2(sink - reference);
        max = larger;
    }
    return {sum > 0.0f ? shrink * ptx::reciprocal(sum) : 0.0f, max, sum};
}

}  // namespace nanoserve
