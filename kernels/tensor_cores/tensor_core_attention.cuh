// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kernels/decode/mma_fragments.hpp>

#include <kernels/decode/place.cuh>
#include <kernels/decode/warp_attention.cuh>

namespace nanoserve {

/// WarpAttention as the Body of a split walk: it leaves its partial result where Fp32Attention
/// does.
template <class Config>
class TensorCoreAttention : public WarpAttention<Config> {
  public:
    /// Writes what the tiles so far add up to: out [group_size][kPartialPitch] floats, and (max,
    /// sum) [group_size].
    __device__ void store_partial(float* out, float2* max_and_sum, int group_size) const {
#pragma unroll
        for (int tile = 0; tile < Config::kHeadTiles; ++tile) {
#pragma unroll
            for (int step = 0; step < Config::kSteps; ++step) {
                store_step(out, tile, step, group_size);
            }
            const int head = 8 * tile + static_cast<int>(c_element(lane_index(), 0).column);
            const float2 max = this->max(tile);
            const float2 sum = this->sum(tile);
            if (lane_index() < 4 && head < group_size) {  // the lanes of row 0
                max_and_sum[head] = make_float2(max.x, sum.x);
            }
            if (lane_index() < 4 && head + 1 < group_size) {
                max_and_sum[head + 1] = make_float2(max.y, sum.y);
            }
        }
    }

  private:
    // Elements 16 step to 16 step + 15 of heads 8 tile to 8 tile + 7, which C [element, head] has.
    __device__ void store_step(float* out, int tile, int step, int group_size) const {
        const float4 x = this->out(tile, step);
        const float elements[4] = {x.x, x.y, x.z, x.w};
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            const MatrixElement at = c_element(lane_index(), i);
            const int head = 8 * tile + static_cast<int>(at.column);
            if (head < group_size) {
                out[head * Config::kPartialPitch + 16 * step + static_cast<int>(at.row)] =
                    elements[i];
            }
        }
    }
};

}  // namespace nanoserve
