// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_fp16.h>
#include <kernels/async_copy/config.hpp>
#include <kernels/decode/bank_swizzle.hpp>

#include <kernels/decode/place.cuh>
#include <kernels/decode/ptx.cuh>

namespace nanoserve {

/// One warp's running attention of one group of query heads over tiles of 16 tokens that lie in
/// shared memory, on the CUDA cores: all of it in fp32.
///
/// A chunk is 16 bytes of a row, 8 elements. Lane = kChunks * row + chunk takes the same chunk of
/// rows row, row + kRows, ... of a tile: the very bytes that it has asked for. So the lanes of a
/// row hold a score in pieces. Adding up the pieces of all tokens and heads at once leaves each
/// lane with one token and half of the group's heads (sum_pieces), and each weight is worked out
/// once in the warp. Scores are in units of ln 2, so that weights are powers of two.
template <class Config>
class Fp32Attention {
    using T = typename Config::T;
    static constexpr int kGroup = Config::kGroupSlots;  // query heads, absent ones included
    static constexpr int kElements = 8;                 // of a chunk
    static constexpr int kChunks = Config::kChunks;     // of a row
    static constexpr int kRows = kWarpSize / kChunks;   // of a tile, that a warp takes at once
    static constexpr int kPasses = Config::kTileTokens / kRows;
    static constexpr int kKept = kGroup * kPasses / kChunks;  // scores that a lane is left with

    static_assert(kKept == kGroup / 2, "one token and half of the group's heads for each lane");

  public:
    __device__ Fp32Attention() : chunk_(lane_index() % kChunks), row_(lane_index() / kChunks) {
        offset_ = chunk_offset<Config::kRowBytes>(row_, chunk_);
        ptx::keep(offset_);
#pragma unroll
        for (int i = 0; i < kKept; ++i) {
            max_[i] = -INFINITY;
        }
    }

    /// q: [group_size, head_dim], 4-byte aligned.
    __device__ void load_query(const T* q, int group_size) {
        q += chunk_ * kElements;
#pragma unroll
        for (int head = 0; head < kGroup; ++head) {
#pragma unroll
            for (int pair = 0; pair < kElements / 2; ++pair) {
                const auto* words =
                    reinterpret_cast<const std::uint32_t*>(q + head * Config::kHeadDim);
                const float2 x = widen(head < group_size ? __ldg(words + pair) : 0u);
                q_[head][2 * pair] = x.x;
                q_[head][2 * pair + 1] = x.y;
            }
        }
    }

    /// Takes in a tile: K rows at `keys`, V rows behind them. Rows from num_tokens on count
    /// nothing; they must hold zeros. scale: sm_scale * log2 e.
    __device__ void add_tile(std::uint32_t keys, int num_tokens, float scale) {
        float scores[kKept];  // of token row + kRows * (chunk / 2), of half of the heads
        score(keys, scores);
        const bool present = static_cast<int>(row_ + kRows * (chunk_ / 2)) < num_tokens;
#pragma unroll
        for (int i = 0; i < kKept; ++i) {
            scores[i] = present ? scores[i] * scale : -INFINITY;
        }
        raise_max(scores);
        float weights[kKept];
#pragma unroll
        for (int i = 0; i < kKept; ++i) {
            weights[i] = ptx::exp2(scores[i] - max_[i]);
            sum_[i] += weights[i];
        }
        add_values(keys + Config::kTileBytes, weights);
    }

    /// Writes what the tiles so far add up to: out [group_size][kPartialPitch] floats, and (max,
    /// sum) [group_size].
    __device__ void store_partial(float* out, float2* max_and_sum, int group_size) const {
#pragma unroll
        for (int head = 0; head < kGroup; ++head) {
            float elements[kElements];
#pragma unroll
            for (int i = 0; i < kElements; ++i) {
                elements[i] = out_[head][i];
#pragma unroll
                for (int distance = kChunks; distance < kWarpSize; distance *= 2) {
                    elements[i] += __shfl_xor_sync(~0u, elements[i], distance);
                }
            }
            if (row_ == 0 && head < group_size) {
                auto* target = reinterpret_cast<float4*>(out + head * Config::kPartialPitch +
                                                         chunk_ * kElements);
                target[0] = {elements[0], elements[1], elements[2], elements[3]};
                target[1] = {elements[4], elements[5], elements[6], elements[7]};
            }
        }
#pragma unroll
        for (int i = 0; i < kKept; ++i) {
            float sum = sum_[i];
#pragma unroll
            for (int distance = 2; distance < kWarpSize; distance *= 2) {
                sum += __shfl_xor_sync(~0u, sum, distance);
            }
            const int head = static_cast<int>(chunk_) * kKept + i;
            if (lane_index() < 2 && head < group_size) {
                max_and_sum[head] = make_float2(max_[i], sum);
            }
        }
    }

  private:
    // Two elements as they lie in a 32-bit word.
    __device__ static float2 widen(std::uint32_t pair) {
        if constexpr (std::is_same_v<T, Bf16>) {
            return {__uint_as_float(pair << 16), __uint_as_float(pair & 0xffff0000u)};
        } else {
            return __half22float2(
                __halves2half2(__ushort_as_half(pair & 0xffffu), __ushort_as_half(pair >> 16)));
        }
    }

    // This lane's chunk of row row_ + kRows * pass of the tile at `rows`.
    __device__ void load_chunk(std::uint32_t rows, int pass, float (&x)[kElements]) const {
        const uint4 chunk = ptx::load_shared_16(
            rows + (offset_ ^ (chunk_rotation<Config::kRowBytes>(pass * kRows) << 4)) +
            static_cast<unsigned>(pass * kRows * Config::kRowBytes));
        const std::uint32_t pairs[4] = {chunk.x, chunk.y, chunk.z, chunk.w};
#pragma unroll
        for (int pair = 0; pair < 4; ++pair) {
            const float2 elements = widen(pairs[pair]);
            x[2 * pair] = elements.x;
            x[2 * pair + 1] = elements.y;
        }
    }

    __device__ void score(std::uint32_t keys, float (&scores)[kKept]) const {
        float pieces[kPasses * kGroup];
#pragma unroll
        for (int pass = 0; pass < kPasses; ++pass) {
            float key[kElements];
            load_chunk(keys, pass, key);
#pragma unroll
            for (int head = 0; head < kGroup; ++head) {
                float piece = 0.0f;
#pragma unroll
                for (int i = 0; i < kElements; ++i) {
                    piece += q_[head][i] * key[i];
                }
                pieces[pass * kGroup + head] = piece;
            }
        }
        sum_pieces(pieces);
#pragma unroll
        for (int i = 0; i < kKept; ++i) {
            scores[i] = pieces[i];
        }
    }

    //! [sum pieces]
    // Adds up what the lanes of a row hold. In each round a lane keeps one half of its sums and
    // gives the other to the lane `distance` further on: chunk c ends with sums c * kKept to c *
    // kKept + kKept - 1 of all, in front.
    __device__ void sum_pieces(float (&pieces)[kPasses * kGroup]) const {
        int left = kPasses * kGroup;
#pragma unroll
        for (int distance = kChunks / 2; distance > 0; distance /= 2) {
            left /= 2;
            const bool keeps_upper = (chunk_ & static_cast<unsigned>(distance)) != 0;
#pragma unroll
            for (int i = 0; i < kPasses * kGroup / 2; ++i) {
                if (i < left) {
                    const float given = keeps_upper ? pieces[i] : pieces[i + left];
                    const float kept = keeps_upper ? pieces[i + left] : pieces[i];
                    pieces[i] = kept + __shfl_xor_sync(~0u, given, distance);
                }
            }
        }
    }
    //! [sum pieces]

    // The lanes that have a head's scores are those with the same last bit.
    __device__ void raise_max(const float (&scores)[kKept]) {
        bool passed = false;
#pragma unroll
        for (int i = 0; i < kKept; ++i) {
            passed |= scores[i] > max_[i];
        }
        if (!__any_sync(~0u, passed)) {
            return;
        }
        float shrink[kKept];
#pragma unroll
        for (int i = 0; i < kKept; ++i) {
            float max = fmaxf(max_[i], scores[i]);
#pragma unroll
            for (int distance = 2; distance < kWarpSize; distance *= 2) {
                max = fmaxf(max, __shfl_xor_sync(~0u, max, distance));
            }
            shrink[i] = ptx::exp2(max_[i] - max);
            max_[i] = max;
            sum_[i] *= shrink[i];
        }
#pragma unroll
        for (int head = 0; head < kGroup; ++head) {
            const float factor = __shfl_sync(~0u, shrink[head % kKept], head / kKept);
#pragma unroll
            for (int i = 0; i < kElements; ++i) {
                out_[head][i] *= factor;
            }
        }
    }

    __device__ void add_values(std::uint32_t values, const float (&weights)[kKept]) {
#pragma unroll
        for (int pass = 0; pass < kPasses; ++pass) {
            float value[kElements];
            load_chunk(values, pass, value);
#pragma unroll
            for (int head = 0; head < kGroup; ++head) {
                const unsigned owner = row_ * kChunks + 2 * pass + head / kKept;
                const float weight =
                    __shfl_sync(~0u, weights[head % kKept], static_cast<int>(owner));
#pragma unroll
                for (int i = 0; i < kElements; ++i) {
                    out_[head][i] += weight * value[i];
                }
            }
        }
    }

    unsigned chunk_;   // of a row
    unsigned row_;     // of the first rows that a warp takes at once
    unsigned offset_;  // of that chunk of that row, bytes
    float q_[kGroup][kElements];
    float max_[kKept];                   // the same in all lanes that have the head
    float sum_[kKept] = {};              // of the weights that this lane has worked out
    float out_[kGroup][kElements] = {};  // over this lane's rows
};

}  // namespace nanoserve
