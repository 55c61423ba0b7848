// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kernels/decode/bank_swizzle.hpp>
#include <kernels/decode/config.hpp>
#include <kernels/decode/mma_fragments.hpp>

#include <kernels/decode/place.cuh>
#include <kernels/decode/ptx.cuh>
#include <kernels/decode/sink.cuh>

namespace nanoserve {

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
///
/// From fp8 pools one load of matrices, whose elements have 16 bits, serves two steps: each element
/// is a pair, and becomes two of fp16 in the registers. Then a lane has 4 neighbouring elements of
/// a K row where it has 2 and 2 of 16 bits, and q is loaded in the same order; and its two rows of
/// out^T are the elements 16 step + 2 row and 16 step + 2 row + 1.
template <class Config>
class WarpAttention {
    using T = typename Config::T;
    using Factor = typename Config::Factor;
    static constexpr int kTiles = Config::kHeadTiles;
    static constexpr int kSteps = Config::kSteps;

  public:
    using Tokens = std::conditional_t<Config::kGeneral, TokenSet, FirstTokens>;

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

    /// Asks for q: [group_size, head_dim], 4-byte aligned, or 8-byte for fp8 pools. convert_query()
    /// is due before a tile.
    __device__ void load_query(const T* q, int group_size) {
        const unsigned column = b_element(lane_, 0).column;  // of [element, query head]
        const T* words = q + (column * Config::kHeadDim + lane_ % 4 * kLaneElements);
        ptx::keep(words);
#pragma unroll
        for (int tile = 0; tile < kTiles; ++tile) {
            const bool present = 8 * tile + static_cast<int>(column) < group_size;
#pragma unroll
            for (int step = 0; step < kSteps; ++step) {
                load_words(words + 8 * tile * Config::kHeadDim + 16 * step, present,
                           q_[tile][step]);
            }
        }
    }

    /// Makes q what the products take, once it has come: behind what need not wait for it.
    __device__ void convert_query() {
        if constexpr (kConvertsQuery) {
#pragma unroll
            for (int tile = 0; tile < kTiles; ++tile) {
                convert_head_tile(tile);
            }
        }
    }

    /// A tile in shared memory: K rows at `keys`, V rows behind them. At least one token counts;
    /// rows of those that don't must hold zeros.
    struct Tile {
        std::uint32_t keys;
        Tokens tokens;
    };

    /// Takes in kCount tiles. They don't wait for one another, so the latency of one hides that of
    /// the next. scale: sm_scale * log2 e, and the scale of K.
    template <int kCount>
    __device__ void add_tiles(const Tile (&tiles)[kCount], float scale) {
        float scores[kCount][kTiles][4];
#pragma unroll
        for (int i = 0; i < kCount; ++i) {
            score(tiles[i].keys, scores[i]);
        }
        std::uint32_t values[kCount][Config::kLoads][4];
        const auto load_values = [&](int i, int load) {
            ptx::load_matrices_transposed(
                along_row(tiles[i].keys + Config::kTileBytes + value_offset_, 2 * load),
                values[i][load]);
        };
#pragma unroll
        for (int i = 0; i < kCount; ++i) {
#pragma unroll
            for (int load = 0; load < Config::kLoadsAhead; ++load) {
                load_values(i, load);  // on their way while the weights are worked out
            }
        }
#pragma unroll
        for (int i = 0; i < kCount; ++i) {
            scale_and_mask(scores[i], tiles[i].tokens, scale);
        }
        std::uint32_t weights[kCount][kTiles][2];
        weigh_all(scores, weights);
#pragma unroll
        for (int i = 0; i < kCount; ++i) {
            add_weights(weights[i]);
#pragma unroll
            for (int load = 0; load < Config::kLoads; ++load) {
                add_values(values[i][load], load, weights[i]);
                if (load + Config::kLoadsAhead < Config::kLoads) {
                    load_values(i, load + Config::kLoadsAhead);
                }
            }
        }
    }
    __device__ void add_tile(std::uint32_t keys, Tokens tokens, float scale) {
        add_tiles<1>({{keys, tokens}}, scale);
    }

    /// Multiplies what the values so far add up to: by the scale of V.
    __device__ void scale_values(float scale) {
#pragma unroll
        for (int tile = 0; tile < kTiles; ++tile) {
#pragma unroll
            for (int step = 0; step < kSteps; ++step) {
#pragma unroll
                for (float& x : out_[tile][step]) {
                    x *= scale;
                }
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
    [[nodiscard]] __device__ static constexpr int element(int step, int row, int half) {
        return 16 * step + (Config::kIsFp8 ? 2 * row + half : row + 8 * half);
    }

    /// Writes 16 elements of up to 8 heads, divided by their sums, as the lanes hold them: see
    /// out(). group: [group_size, head_dim]. For all lanes of a warp.
    __device__ static void write_step(T* group, int tile, int step, const float (&x)[4],
                                      int group_size) {
        if constexpr (Config::kIsFp8) {  // a lane has neighbouring elements of two heads
            T* row = group + element(step, static_cast<int>(lane_index() / 4), 0);
#pragma unroll
            for (int i = 0; i < 2; ++i) {
                const int head = 8 * tile + 2 * static_cast<int>(lane_index() % 4) + i;
                if (head < group_size) {
                    store_word(row + head * Config::kHeadDim, ptx::pack<T>(x[i], x[i + 2]));
                }
            }
        } else {
            const int head = 8 * tile + static_cast<int>(lane_index() / 4);
            T* row = group + head * Config::kHeadDim + lane_index() % 4 * 2 + 16 * step;
#pragma unroll
            for (int half = 0; half < 2; ++half) {
                const std::uint32_t word =
                    ptx::transpose(ptx::pack<T>(x[2 * half], x[2 * half + 1]));
                if (head < group_size) {
                    store_word(row + kNextWord * half, word);
                }
            }
        }
    }

    /// Writes the rows of a whole group: out [group_size, head_dim], lse [group_size] or nullptr.
    /// sinks: [group_size] or nullptr.
    __device__ void store_output(T* group, float* lse, const float* sinks, int group_size) const {
#pragma unroll
        for (int tile = 0; tile < kTiles; ++tile) {
            const int head = 8 * tile + 2 * static_cast<int>(lane_index() % 4);
            SoftmaxEnd ends[2];  // of this lane's heads
#pragma unroll
            for (int i = 0; i < 2; ++i) {
                ends[i] = end_of_softmax(max_[tile][i], sum_[tile][i], sinks, head + i, group_size);
            }
            const float r0 = ends[0].factor, r1 = ends[1].factor;
#pragma unroll
            for (int step = 0; step < kSteps; ++step) {
                const float(&x)[4] = out_[tile][step];
                write_step(group, tile, step, {x[0] * r0, x[1] * r1, x[2] * r0, x[3] * r1},
                           group_size);
            }
            if (lse != nullptr) {
#pragma unroll
                for (int i = 0; i < 2; ++i) {
                    if (lane_index() < 4 && head + i < group_size) {
                        lse[head + i] = ends[i].lse();
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
    static constexpr std::uint32_t kOnes = std::is_same_v<Factor, Bf16> ? 0x3f803f80u : 0x3c003c00u;
    static constexpr bool kConvertsQuery = !std::is_same_v<T, Factor>;

    // The lane's two words of q in a step, of four neighbouring elements or of two and two.
    static constexpr int kLaneElements = Config::kIsFp8 ? 4 : 2;
    static constexpr int kNextWord = 8;  // elements from the first word, where they don't touch

    __device__ static void load_words(const T* first, bool present, std::uint32_t (&words)[2]) {
        if constexpr (Config::kIsFp8) {
            const uint2 both = present ? ptx::load(reinterpret_cast<const uint2*>(first)) : uint2{};
            words[0] = both.x;
            words[1] = both.y;
        } else {
            words[0] = present ? load_word(first) : 0;
            words[1] = present ? load_word(first + kNextWord) : 0;
        }
    }
    __device__ static std::uint32_t load_word(const T* first) {
        return ptx::load(reinterpret_cast<const std::uint32_t*>(first));
    }
    __device__ static void store_word(T* first, std::uint32_t word) {
        *reinterpret_cast<std::uint32_t*>(first) = word;
    }

    // bf16 q in fp16, whose largest number is 2^16: each head's by the power of two that brings its
    // largest element to [2^15, 2^16). The scores of its column are multiplied by the inverse.
    __device__ void convert_head_tile(int tile) {
        std::uint32_t pair = 0;  // magnitudes, whose bits are ordered as they are
#pragma unroll
        for (const auto& words : q_[tile]) {
#pragma unroll
            for (const std::uint32_t word : words) {
                pair = ptx::larger_magnitudes(pair, word);
            }
        }
        unsigned largest = ::max(pair & 0xffffu, pair >> 16);
        largest = ::max(largest, __shfl_xor_sync(~0u, largest, 1));  // of the head's 4 lanes
        largest = ::max(largest, __shfl_xor_sync(~0u, largest, 2));
        const unsigned exponent = ::min(::max(largest >> 7, 16u), 254u);
        const float factor = __uint_as_float((142 + 127 - exponent) << 23);
#pragma unroll
        for (auto& words : q_[tile]) {
#pragma unroll
            for (std::uint32_t& word : words) {
                word = ptx::pack<Fp16>(low(word) * factor, high(word) * factor);
            }
        }
        const float inverse = __uint_as_float((exponent - 15) << 23);  // 2^(exponent - 142)
#pragma unroll
        for (int i = 0; i < 2; ++i) {  // of this lane's columns
            q_scale_[tile][i] = __shfl_sync(~0u, inverse, lane_ % 4 * 8 + i * 4);
        }
    }
    __device__ static float low(std::uint32_t bf16_pair) {
        return __uint_as_float(bf16_pair << 16);
    }
    __device__ static float high(std::uint32_t bf16_pair) {
        return __uint_as_float(bf16_pair & 0xffff0000u);
    }

    // The first factor of product `part` of a load of K: 16 tokens, 16 elements.
    __device__ static void key_factor(const std::uint32_t (&matrices)[4], int part,
                                      std::uint32_t (&rows)[4]) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            if constexpr (Config::kIsFp8) {  // tokens in i % 2, the lane's elements in i / 2
                const std::uint32_t four = matrices[2 * part + i % 2];
                rows[i] = i < 2 ? ptx::lower_e4m3_as_fp16(four) : ptx::upper_e4m3_as_fp16(four);
            } else {
                rows[i] = matrices[i];
            }
        }
    }

    // The first factor of product `part` of a load of V: 16 elements, 16 tokens.
    __device__ static void value_factor(const std::uint32_t (&matrices)[4], int part,
                                        std::uint32_t (&columns)[4]) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            if constexpr (Config::kIsFp8) {  // elements in i % 2, tokens in i / 2
                // Two elements of one token, then of the next: tokens belong together instead.
                const std::uint32_t four = ptx::permute(matrices[part + i / 2 * 2], 0, 0x3120);
                columns[i] =
                    i % 2 == 0 ? ptx::lower_e4m3_as_fp16(four) : ptx::upper_e4m3_as_fp16(four);
            } else {
                columns[i] = matrices[i];
            }
        }
    }

    __device__ void score(std::uint32_t keys, float (&scores)[kTiles][4]) const {
        // Independent sums, since a product takes 26 cycles: 4, as far as registers go.
        constexpr int kChains = kSteps >= 8 && kSteps * kTiles <= 16 ? 4 : 2;
        float sum[kTiles][kChains][4] = {};
#pragma unroll
        for (int load = 0; load < Config::kLoads; ++load) {
            std::uint32_t matrices[4];
            ptx::load_matrices(along_row(keys + key_offset_, 2 * load), matrices);
#pragma unroll
            for (int part = 0; part < Config::kStepsPerLoad; ++part) {
                const int step = load * Config::kStepsPerLoad + part;
                std::uint32_t rows[4];  // K [16 tokens, 16 elements]
                key_factor(matrices, part, rows);
#pragma unroll
                for (int tile = 0; tile < kTiles; ++tile) {
                    ptx::multiply_add<Factor>(sum[tile][step % kChains], rows, q_[tile][step]);
                }
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
                if constexpr (kConvertsQuery) {
                    scores[tile][i] *= scale * q_scale_[tile][i % 2];
                } else {
                    scores[tile][i] *= scale;
                }
                const int token = static_cast<int>(c_element(lane_, i).row);
                if (!tokens.all() && !tokens.has(token)) {
                    scores[tile][i] = -INFINITY;
                }
            }
        }
    }

    // The maximum need not be the largest score, only near it: the first token's score serves until
    // another passes it by kSlack. (If that token doesn't count, every score passes -infinity.) The
    // weights don't wait for the vote on that, and are worked out again where it is lost.
    template <int kCount>
    __device__ void weigh_all(const float (&scores)[kCount][kTiles][4],
                              std::uint32_t (&weights)[kCount][kTiles][2]) {
        start_max(scores[0]);
        float largest[kTiles][2];  // of this lane's tokens, of each of its heads
        bool passed = false;
#pragma unroll
        for (int tile = 0; tile < kTiles; ++tile) {
#pragma unroll
            for (int i = 0; i < 2; ++i) {
                largest[tile][i] = fmaxf(scores[0][tile][i], scores[0][tile][i + 2]);
#pragma unroll
                for (int more = 1; more < kCount; ++more) {
                    largest[tile][i] = fmaxf(
                        largest[tile][i], fmaxf(scores[more][tile][i], scores[more][tile][i + 2]));
                }
                passed |= largest[tile][i] > max_[tile][i] + kSlack;
            }
        }
        const auto weigh_each = [&] {
#pragma unroll
            for (int i = 0; i < kCount; ++i) {
                weigh(scores[i], weights[i]);
            }
        };
        const bool moves = __any_sync(~0u, passed);
        weigh_each();
        if (moves) {
            move_max(largest);
            weigh_each();
        }
    }

    // The first token's scores, of the first tile.
    __device__ void start_max(const float (&scores)[kTiles][4]) {
        if (!is_new_) {
            return;
        }
        is_new_ = false;
#pragma unroll
        for (int tile = 0; tile < kTiles; ++tile) {
            max_[tile][0] = __shfl_sync(~0u, scores[tile][0], lane_ % 4);
            max_[tile][1] = __shfl_sync(~0u, scores[tile][1], lane_ % 4);
        }
    }

    __device__ void move_max(const float (&largest)[kTiles][2]) {
#pragma unroll
        for (int tile = 0; tile < kTiles; ++tile) {
#pragma unroll
            for (int i = 0; i < 2; ++i) {
                float max = fmaxf(max_[tile][i], largest[tile][i]);
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
                    ptx::pack<Factor>(ptx::exp2(scores[tile][2 * half] - max_[tile][0]),
                                      ptx::exp2(scores[tile][2 * half + 1] - max_[tile][1])));
            }
        }
    }

    // Every row of the product with ones is the sum of the weights.
    __device__ void add_weights(const std::uint32_t (&weights)[kTiles][2]) {
        const std::uint32_t ones[4] = {kOnes, kOnes, kOnes, kOnes};
#pragma unroll
        for (int tile = 0; tile < kTiles; ++tile) {
            ptx::multiply_add<Factor>(sum_[tile], ones, weights[tile]);
        }
    }

    // Values times weights, for the elements of one load of V.
    __device__ void add_values(const std::uint32_t (&values)[4], int load,
                               const std::uint32_t (&weights)[kTiles][2]) {
#pragma unroll
        for (int part = 0; part < Config::kStepsPerLoad; ++part) {
            std::uint32_t columns[4];  // of V: V^T [16 elements, 16 tokens]
            value_factor(values, part, columns);
#pragma unroll
            for (int tile = 0; tile < kTiles; ++tile) {
                ptx::multiply_add<Factor>(out_[tile][load * Config::kStepsPerLoad + part], columns,
                                          weights[tile]);
            }
        }
    }

    unsigned lane_;
    bool is_new_ = true;     // no tile so far
    unsigned key_offset_;    // of this lane's row of the first K matrices, bytes
    unsigned value_offset_;  // the same for V
    std::uint32_t q_[kTiles][kSteps][2];
    float q_scale_[kTiles][2];  // where q is converted: of the lane's two heads
    float max_[kTiles][2];
    float sum_[kTiles][4] = {};  // of weights; every row of the product is the same
    float out_[kTiles][kSteps][4] = {};
};

}  // namespace nanoserve
