// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// Attention of one tile on played matrix instructions, from shared memory to the output, against
// plain sums: no GPU needed.
#include "support/emulated_warp.hpp"

#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <kernels/decode/bank_swizzle.hpp>
#include <kernels/decode/mma_fragments.hpp>

using namespace nanoserve;
using namespace nanoserve::testing;

namespace {

constexpr unsigned kTokens = 16;

// Small whole numbers: their products and sums are exact.
float key(unsigned token, unsigned d) {
    return static_cast<float>((token * 5 + d) % 3) - 1.0f;
}
float value(unsigned token, unsigned d) {
    return static_cast<float>((token * 3 + d * 2) % 7) - 3.0f;
}
float query(unsigned head, unsigned d) {
    return static_cast<float>((head * 2 + d) % 3) - 1.0f;
}

template <int kHeadDim>
std::vector<Bf16> tile_of(float (*element)(unsigned, unsigned)) {
    std::vector<Bf16> memory(kTokens * kHeadDim);
    for (unsigned token = 0; token < kTokens; ++token) {
        for (unsigned d = 0; d < kHeadDim; ++d) {
            memory[chunk_offset<kHeadDim * 2>(token, d / 8) / 2 + d % 8] =
                from_float<Bf16>(element(token, d));
        }
    }
    return memory;
}

template <int kHeadDim>
std::array<unsigned, kLanes> addresses(RowChunk (*place)(unsigned), unsigned step) {
    std::array<unsigned, kLanes> named = {};
    for (unsigned lane = 0; lane < kLanes; ++lane) {
        named[lane] = chunk_offset<kHeadDim * 2>(place(lane).row, place(lane).chunk) ^ step << 5;
    }
    return named;
}

template <int kHeadDim>
FragmentC scores_of_tile() {
    const std::vector<Bf16> keys = tile_of<kHeadDim>(key);
    FragmentC scores = {};
    for (unsigned step = 0; step < kHeadDim / 16; ++step) {
        FragmentB queries = {};
        for (unsigned lane = 0; lane < kLanes; ++lane) {
            for (unsigned i = 0; i < 4; ++i) {
                const MatrixElement at = b_element(lane, i);
                queries[lane][i] = from_float<Bf16>(query(at.column, 16 * step + at.row));
            }
        }
        emulated_mma(scores, emulated_ldmatrix(keys, addresses<kHeadDim>(key_chunk, step), false),
                     queries);
    }
    return scores;
}

// The scores themselves in the place of weights.
FragmentB transposed(const FragmentC& scores) {
    FragmentB weights = {};
    for (unsigned half = 0; half < 2; ++half) {
        Fragment8x8 packed = {};
        for (unsigned lane = 0; lane < kLanes; ++lane) {
            packed[lane] = {from_float<Bf16>(scores[lane][2 * half]),
                            from_float<Bf16>(scores[lane][2 * half + 1])};
        }
        packed = emulated_movmatrix(packed);
        for (unsigned lane = 0; lane < kLanes; ++lane) {
            weights[lane][2 * half] = packed[lane][0];
            weights[lane][2 * half + 1] = packed[lane][1];
        }
    }
    return weights;
}

float plain_score(unsigned token, unsigned head, unsigned head_dim) {
    float sum = 0.0f;
    for (unsigned d = 0; d < head_dim; ++d) {
        sum += key(token, d) * query(head, d);
    }
    return sum;
}

}  // namespace

TEST_CASE("the played product is a product", "[decode]") {
    FragmentA a = {};
    FragmentB b = {};
    FragmentC c = {};
    a_at(a, 9, 13) = from_float<Bf16>(3.0f);
    b_at(b, 13, 5) = from_float<Bf16>(7.0f);
    CHECK(to_float(a[6][7]) == 3.0f);  // lane 4 * 1 + 13 % 8 / 2 has it, in its last register
    CHECK(to_float(b[22][3]) == 7.0f);
    c_at(c, 9, 5) = 0.5f;
    emulated_mma(c, a, b);
    CHECK(c_at(c, 9, 5) == 21.5f);
    CHECK(c[6][3] == 21.5f);
    CHECK(c_at(c, 9, 4) == 0.0f);
}

TEMPLATE_TEST_CASE_SIG("scores and values of a tile are the plain sums", "[decode]",
                       ((int kHeadDim), kHeadDim), 64, 128) {
    const FragmentC scores = scores_of_tile<kHeadDim>();
    for (unsigned lane = 0; lane < kLanes; ++lane) {
        for (unsigned i = 0; i < 4; ++i) {
            const MatrixElement at = c_element(lane, i);
            CHECK(scores[lane][i] == plain_score(at.row, at.column, kHeadDim));
        }
    }
    const std::vector<Bf16> values = tile_of<kHeadDim>(value);
    for (unsigned step = 0; step < kHeadDim / 16; ++step) {
        FragmentC out = {};
        emulated_mma(out, emulated_ldmatrix(values, addresses<kHeadDim>(value_chunk, step), true),
                     transposed(scores));
        for (unsigned lane = 0; lane < kLanes; ++lane) {
            for (unsigned i = 0; i < 4; ++i) {
                const MatrixElement at = c_element(lane, i);  // [element, head]
                float sum = 0.0f;
                for (unsigned token = 0; token < kTokens; ++token) {
                    sum +=
                        plain_score(token, at.column, kHeadDim) * value(token, 16 * step + at.row);
                }
                CHECK(out[lane][i] == sum);
            }
        }
    }
}
