// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kernels/decode/bank_swizzle.hpp>
#include <kernels/decode/config.hpp>
#include <kernels/decode/mma_fragments.hpp>

#include <kernels/decode/place.cuh>
#include <kernels/decode/ptx.cuh>

namespace nanoserve {

/// The natural logarithm of a sum of weights 2^(score - max), max in units of ln 2.
__device__ inline float natural_lse(float max, float sum) {
    constexpr float kLn2 = 0.693147181f;
    return sum > 0.0f ? (max + log2f(sum)) * kLn2 : -INFINITY;
}

/// Which tokens of a tile count: the first `count`, all where that is 16 or more.
struct FirstTokens {
    int count;

    __device__ FirstTokens(int tokens) : count(tokens) {}  // NOLINT: a number says it all
    [[nodiscard]] __device__ bool all() const { return count >= 16; }
    [[nodiscard]] __device__ bool has(int token) const { return token < count; }
};

/// The same where any may be missing, since their blocks are: bit t stands for token t.
struct TokenSet {
    unsigned bits;

    [[nodiscard]] __device__ bool all() const { return bits == 0xffffu; }
    [[nodiscard]] __device__ bool has(int token) const { return (bits >> token & 1) != 0; }
};

/// One warp's running attention of one group of query heads over tiles of 16 tokens that lie in
/// shared memory. Tokens are the rows of the matrix products and query heads the columns, so a
/// group of up to 8 heads fills one product, and nothing is padded along the tokens:
/// @code
/// scores^T [16 tokens, 8 heads] = K [16, head_dim] * Q^T [head_dim, 8]
/// out^T [head_dim, 8 heads]    += V^T [head_dim, 16] * weights^T [16, 8]
/// @endcode
/// Lane 4 * row + pair holds, of scores^T, tokens row and row + 8 of heads 2 pair and 2 pair + 1;
/// of out^T, elements 16 step + row and 16 step + row + 8 of the same heads. Scores are in units
/// of ln 2, so that weights are powers of two.
template <class Config>
class WarpAttention {
    using T = typename Config::T;
    static constexpr int kTiles = Config::kHeadTiles;
    static constexpr int kSteps = Config::kSteps;

  public:
    using Tokens = std::conditional_t<Config::kSmallBlocks, TokenSet, FirstTokens>;

    __device__ WarpAttention() : lane_(lane_index()) {
#pragma unroll
        for (int tile = 0; tile < kTiles; ++tile) {
            max_[tile][0] = max_[tile][1] = -INFINITY;
        }
        const RowChunk key = key_chunk(lane_);
        const RowChunk value = value_chunk(lane_);
        key_offset_ = chunk_offset<Config::kRowBytes>(key.row, key.chunk);
        value_offset_ = chunk_offset<Config::kRowBytes>(value.row, value.chunk);
        ptx::keep(lane_);
        ptx::keep(key_offset_);
        ptx::keep(value_offset_);
    }

    /// q: [group_size, head_dim], 4-byte aligned.
    __device__ void load_query(const T* q, int group_size) {
        const MatrixElement place = b_element(lane_, 0);  // [element, query head]
        const T* words = q + (place.column * Config::kHeadDim + place.row);
        ptx::keep(words);
#pragma unroll
        for (int tile = 0; tile < kTiles; ++tile) {
            const bool present = 8 * tile + static_cast<int>(place.column) < group_size;
#pragma unroll
            for (int step = 0; step < kSteps; ++step) {
                const T* first = words + 8 * tile * Config::kHeadDim + 16 * step;
                q_[tile][step][0] = present ? load_word(first) : 0;
                q_[tile][step][1] = present ? load_word(first + 8) : 0;
            }
        }
    }

    /// Takes in a tile: K rows at `keys`, V rows behind them. At least one token counts; rows of
    /// those that don't must hold zeros. scale: sm_scale * log2 e.
    __device__ void add_tile(std::uint32_t keys, Tokens tokens, float scale) {
        float scores[kTiles][4];
        score(keys, scores);
        std::uint32_t values[kSteps][4];  // V^T [16 elements, 16 tokens] of each step
        const auto load_values = [&](int step) {
            ptx::load_matrices_transposed(
                along_row(keys + Config::kTileBytes + value_offset_, 2 * step), values[step]);
        };
#pragma unroll
        for (int step = 0; step < Config::kStepsAhead; ++step) {
            load_values(step);  // on their way while the weights are worked out
        }
        scale_and_mask(scores, tokens, scale);
        raise_max(scores);
        std::uint32_t weights[kTiles][2];
        weigh(scores, weights);
        const std::uint32_t ones[4] = {kOnes, kOnes, kOnes, kOnes};
#pragma unroll
        for (int tile = 0; tile < kTiles; ++tile) {
            ptx::multiply_add<T>(sum_[tile], ones, weights[tile]);
        }
#pragma unroll
        for (int step = 0; step < kSteps; ++step) {
#pragma unroll
            for (int tile = 0; tile < kTiles; ++tile) {
                ptx::multiply_add<T>(out_[tile][step], values[step], weights[tile]);
            }
            if (step + Config::kStepsAhead < kSteps) {
                load_values(step + Config::kStepsAhead);
            }
        }
    }

    /// What this lane has so far of elements [16 step, 16 step + 16) of heads [8 tile, 8 tile + 8):
    /// out[i] of head 8 tile + 2 (lane % 4) + i % 2, the maximum and the sum of weights of both
    /// heads.
    [[nodiscard]] __device__ float4 out(int tile, int step) const {
        const float(&x)[4] = out_[tile][step];
        return make_float4(x[0], x[1], x[2], x[3]);
    }
    [[nodiscard]] __device__ float2 max(int tile) const {
        return make_float2(max_[tile][0], max_[tile][1]);
    }
    [[nodiscard]] __device__ float2 sum(int tile) const {
        return make_float2(sum_[tile][0], sum_[tile][1]);
    }

    /// The element of a head that out(tile, step) holds in lane 4 * row + pair: half 0 in its first
    /// two floats, half 1 in the others.
    [[nodiscard]] __device__ static int element(int step, int row, int half) {
        return 16 * step + row + 8 * half;
    }

    /// Writes the rows of a whole group: out [group_size, head_dim], lse [group_size] or nullptr.
    __device__ void store_output(T* out, float* lse, int group_size) const {
#pragma unroll
        for (int tile = 0; tile < kTiles; ++tile) {
            const float r0 = sum_[tile][0] > 0.0f ? ptx::reciprocal(sum_[tile][0]) : 0.0f;
            const float r1 = sum_[tile][1] > 0.0f ? ptx::reciprocal(sum_[tile][1]) : 0.0f;
            const int head = 8 * tile + static_cast<int>(lane_ / 4);
            T* row = out + head * Config::kHeadDim + lane_ % 4 * 2;
#pragma unroll
            for (int step = 0; step < kSteps; ++step) {
                const float(&x)[4] = out_[tile][step];
#pragma unroll
                for (int half = 0; half < 2; ++half) {
                    const std::uint32_t word =
                        ptx::transpose(ptx::pack<T>(x[2 * half] * r0, x[2 * half + 1] * r1));
                    if (head < group_size) {
                        *reinterpret_cast<std::uint32_t*>(row + 16 * step + 8 * half) = word;
                    }
                }
            }
            if (lse != nullptr && lane_ < 4) {
#pragma unroll
                for (int i = 0; i < 2; ++i) {
                    if (8 * tile + 2 * static_cast<int>(lane_) + i < group_size) {
                        lse[8 * tile + 2 * lane_ + i] = natural_lse(max_[tile][i], sum_[tile][i]);
                    }
                }
            }
        }
    }

  private:
    // The address so many chunks further along a row, from one of the first two chunks.
    __device__ static std::uint32_t along_row(std::uint32_t address, unsigned chunks) {
        constexpr unsigned kSpan = kSwizzleChunks<Config::kRowBytes>;
        return (address ^ (chunks % kSpan << 4)) + (chunks / kSpan * kSpan << 4);
    }

    // A maximum moves only when a score passes it by so much: weights stay below 2^8.
    static constexpr float kSlack = 8.0f;
    static constexpr std::uint32_t kOnes = std::is_same_v<T, Bf16> ? 0x3f803f80u : 0x3c003c00u;

    __device__ static std::uint32_t load_word(const T* words) {
        return __ldg(reinterpret_cast<const std::uint32_t*>(words));
    }

    __device__ void score(std::uint32_t keys, float (&scores)[kTiles][4]) const {
        // Independent sums, since a product takes 26 cycles: 4, as far as registers go.
        constexpr int kChains = kSteps >= 8 && kSteps * kTiles <= 16 ? 4 : 2;
        float sum[kTiles][kChains][4] = {};
#pragma unroll
        for (int step = 0; step < kSteps; ++step) {
            std::uint32_t rows[4];
            ptx::load_matrices(along_row(keys + key_offset_, 2 * step), rows);
#pragma unroll
            for (int tile = 0; tile < kTiles; ++tile) {
                ptx::multiply_add<T>(sum[tile][step % kChains], rows, q_[tile][step]);
            }
        }
#pragma unroll
        for (int tile = 0; tile < kTiles; ++tile) {
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                scores[tile][i] = sum[tile][0][i] + sum[tile][1][i];
                if constexpr (kChains == 4) {
                    scores[tile][i] += sum[tile][2][i] + sum[tile][3][i];
                }
            }
        }
    }

    __device__ void scale_and_mask(float (&scores)[kTiles][4], Tokens tokens, float scale) const {
#pragma unroll
        for (int tile = 0; tile < kTiles; ++tile) {
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                scores[tile][i] *= scale;
                const int token = static_cast<int>(c_element(lane_, i).row);
                if (!tokens.all() && !tokens.has(token)) {
                    scores[tile][i] = -INFINITY;
                }
            }
        }
    }

    // The maximum need not be the largest score, only near it: the first token's score serves until
    // another passes it by kSlack. (If that token doesn't count, every score passes -infinity.)
    __device__ void raise_max(const float (&scores)[kTiles][4]) {
        if (is_new_) {
            is_new_ = false;
#pragma unroll
            for (int tile = 0; tile < kTiles; ++tile) {
                max_[tile][0] = __shfl_sync(~0u, scores[tile][0], lane_ % 4);
                max_[tile][1] = __shfl_sync(~0u, scores[tile][1], lane_ % 4);
            }
        }
        bool passed = false;
#pragma unroll
        for (int tile = 0; tile < kTiles; ++tile) {
#pragma unroll
            for (int i = 0; i < 2; ++i) {
                passed |= fmaxf(scores[tile][i], scores[tile][i + 2]) > max_[tile][i] + kSlack;
            }
        }
        if (__any_sync(~0u, passed)) {
            move_max(scores);
        }
    }

    __device__ void move_max(const float (&scores)[kTiles][4]) {
#pragma unroll
        for (int tile = 0; tile < kTiles; ++tile) {
#pragma unroll
            for (int i = 0; i < 2; ++i) {
                float max = fmaxf(max_[tile][i], fmaxf(scores[tile][i], scores[tile][i + 2]));
#pragma unroll
                for (int distance = 4; distance < kWarpSize; distance *= 2) {
                    max = fmaxf(max, __shfl_xor_sync(~0u, max, distance));
                }
                const float shrink = ptx::exp2(max_[tile][i] - max);
                max_[tile][i] = max;
                sum_[tile][i] *= shrink;
#pragma unroll
                for (int step = 0; step < kSteps; ++step) {
                    out_[tile][step][i] *= shrink;
                    out_[tile][step][i + 2] *= shrink;
                }
            }
        }
    }

    // weights^T as the second factor of a product: tokens along its K.
    __device__ void weigh(const float (&scores)[kTiles][4],
                          std::uint32_t (&weights)[kTiles][2]) const {
#pragma unroll
        for (int tile = 0; tile < kTiles; ++tile) {
#pragma unroll
            for (int half = 0; half < 2; ++half) {
                weights[tile][half] = ptx::transpose(
                    ptx::pack<T>(ptx::exp2(scores[tile][2 * half] - max_[tile][0]),
                                 ptx::exp2(scores[tile][2 * half + 1] - max_[tile][1])));
            }
        }
    }

    unsigned lane_;
    bool is_new_ = true;     // no tile so far
    unsigned key_offset_;    // of this lane's row of the first K matrices, bytes
    unsigned value_offset_;  // the same for V
    std::uint32_t q_[kTiles][kSteps][2];
    float max_[kTiles][2];
    float sum_[kTiles][4] = {};  // of weights; every row of the product is the same
    float out_[kTiles][kSteps][4] = {};
};

}  // namespace nanoserve
