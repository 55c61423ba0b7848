// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// Day 25: which lane holds which element of a product? The matrix instructions are played on the
// CPU, after the PTX ISA's description.
#include "exercise/expect.hpp"
#include "support/emulated_warp.hpp"
#include "support/shared_banks.hpp"

#include <catch2/catch_test_macros.hpp>
#include <kernels/decode/bank_swizzle.hpp>
#include <kernels/decode/mma_fragments.hpp>

#include <limits>
#include <set>
#include <string>
#include <vector>

using namespace nanoserve;
using namespace nanoserve::testing;

namespace {

constexpr unsigned kTokens = 16;
constexpr unsigned kHeadDim = 64;
constexpr unsigned kRowBytes = kHeadDim * 2;

// Small whole numbers, whose products and sums are exact in bf16 and in float.
float number(unsigned row, unsigned column) {
    return static_cast<float>((row * 7 + column * 3) % 11) - 5.0f;
}

// A tile as it lies in shared memory: [kTokens, kHeadDim], chunks swizzled.
std::vector<Bf16> tile() {
    std::vector<Bf16> memory(kTokens * kHeadDim);
    for (unsigned token = 0; token < kTokens; ++token) {
        for (unsigned d = 0; d < kHeadDim; ++d) {
            memory[chunk_offset<kRowBytes>(token, d / 8) / 2 + d % 8] =
                from_float<Bf16>(number(token, d));
        }
    }
    return memory;
}

// What each lane names for a step along the rows: elements 16 step to 16 step + 15.
std::array<unsigned, kLanes> addresses(RowChunk (*place)(unsigned), unsigned step) {
    std::array<unsigned, kLanes> named = {};
    for (unsigned lane = 0; lane < kLanes; ++lane) {
        const RowChunk at = place(lane);
        INFO("lane " << lane << " names chunk " << at.chunk << " of row " << at.row);
        REQUIRE((at.row < kTokens && at.chunk < 2));
        named[lane] = chunk_offset<kRowBytes>(at.row, at.chunk) ^ step << 5;
    }
    return named;
}

// The learner's C, as a matrix; each place must be somebody's.
std::vector<float> matrix_of(const FragmentC& c) {
    std::vector<float> matrix(16 * 8, std::numeric_limits<float>::quiet_NaN());
    for (unsigned lane = 0; lane < kLanes; ++lane) {
        for (unsigned i = 0; i < 4; ++i) {
            const MatrixElement at = c_element(lane, i);
            INFO("element " << i << " of lane " << lane << " is said to stand in row " << at.row
                            << ", column " << at.column);
            REQUIRE((at.row < 16 && at.column < 8));
            matrix[at.row * 8 + at.column] = c[lane][i];
        }
    }
    return matrix;
}

void expect_matrix(const char* name, const Axis& rows, const FragmentC& c,
                   const std::vector<double>& expected) {
    const std::string difference = first_difference(
        {.name = name, .axes = {rows, {"heads", 8}}, .expected = expected}, matrix_of(c));
    if (!difference.empty()) {
        FAIL(difference);
    }
}

// Each lane's part of B [16, 8], where the learner says that it stands.
template <class Number>
FragmentB b_of(Number value) {
    FragmentB b = {};
    for (unsigned lane = 0; lane < kLanes; ++lane) {
        for (unsigned i = 0; i < 4; ++i) {
            const MatrixElement at = b_element(lane, i);
            INFO("element " << i << " of lane " << lane << " is said to stand in row " << at.row
                            << ", column " << at.column);
            REQUIRE((at.row < 16 && at.column < 8));
            b[lane][i] = from_float<Bf16>(value(at.row, at.column));
        }
    }
    return b;
}

// The same as the instruction has it.
template <class Number>
FragmentB true_b(Number value) {
    FragmentB b = {};
    for (unsigned k = 0; k < 16; ++k) {
        for (unsigned n = 0; n < 8; ++n) {
            b_at(b, k, n) = from_float<Bf16>(value(k, n));
        }
    }
    return b;
}

// sum over k of left(row, k) * right(k, column), [16, 8].
template <class Left, class Right>
std::vector<double> product(unsigned num_k, Left left, Right right) {
    std::vector<double> sums;
    for (unsigned row = 0; row < 16; ++row) {
        for (unsigned column = 0; column < 8; ++column) {
            double sum = 0.0;
            for (unsigned k = 0; k < num_k; ++k) {
                sum += double{left(row, k)} * double{right(k, column)};
            }
            sums.push_back(sum);
        }
    }
    return sums;
}

float query(unsigned d, unsigned head) {  // Q^T
    return number(head + 3, d);
}

float weight(unsigned token, unsigned head) {  // weights^T
    return number(token, head + 5);
}

}  // namespace

TEST_CASE("each element of C is read where the product has put it") {
    FragmentC c = {};
    std::vector<double> expected;
    for (unsigned m = 0; m < 16; ++m) {
        for (unsigned n = 0; n < 8; ++n) {
            c_at(c, m, n) = static_cast<float>(m * 8 + n);
            expected.push_back(m * 8 + n);
        }
    }
    expect_matrix("C", {"rows", 16}, c, expected);
}

TEST_CASE("each element of B is where the product looks for it") {
    const FragmentB got = b_of([](unsigned k, unsigned n) { return number(k, n); });
    const FragmentB expected = true_b([](unsigned k, unsigned n) { return number(k, n); });
    for (unsigned lane = 0; lane < kLanes; ++lane) {
        for (unsigned i = 0; i < 4; ++i) {
            expect_equal("element " + std::to_string(i) + " of lane " + std::to_string(lane),
                         to_float(got[lane][i]), to_float(expected[lane][i]));
        }
    }
}

TEST_CASE("each 8 lanes name 8 chunks in different banks") {
    for (const auto place : {key_chunk, value_chunk}) {
        const auto named = addresses(place, 0);
        for (unsigned first = 0; first < kLanes; first += 8) {
            INFO("lanes " << first << " to " << first + 7);
            const std::vector<unsigned> chunks = {named.begin() + first, named.begin() + first + 8};
            REQUIRE(std::set<unsigned>(chunks.begin(), chunks.end()).size() == 8);
            REQUIRE(num_answers(chunks) == 1);
        }
    }
}

TEST_CASE("16 tokens of K become A, a row for each token") {
    const FragmentA got = emulated_ldmatrix(tile(), addresses(key_chunk, 0), false);
    FragmentA a = got;
    for (unsigned token = 0; token < kTokens; ++token) {
        for (unsigned d = 0; d < 16; ++d) {
            expect_equal("A[" + std::to_string(token) + ", " + std::to_string(d) + "]",
                         to_float(a_at(a, token, d)), number(token, d));
        }
    }
}

TEST_CASE("16 tokens of V become A, a row for each element") {
    FragmentA a = emulated_ldmatrix(tile(), addresses(value_chunk, 0), true);
    for (unsigned d = 0; d < 16; ++d) {
        for (unsigned token = 0; token < kTokens; ++token) {
            expect_equal("A[" + std::to_string(d) + ", " + std::to_string(token) + "]",
                         to_float(a_at(a, d, token)), number(token, d));
        }
    }
}

TEST_CASE("scores of 16 tokens and 8 heads: K Q^T, 16 elements at a time") {
    FragmentC scores = {};
    for (unsigned step = 0; step < kHeadDim / 16; ++step) {
        emulated_mma(scores, emulated_ldmatrix(tile(), addresses(key_chunk, step), false),
                     b_of([&](unsigned k, unsigned head) { return query(16 * step + k, head); }));
    }
    expect_matrix("scores^T", {"tokens", 16}, scores, product(kHeadDim, number, query));
}

TEST_CASE("8 x 8 scores become weights by one transposition of the lanes") {
    FragmentC c = {};
    for (unsigned lane = 0; lane < kLanes; ++lane) {
        for (unsigned i = 0; i < 4; ++i) {
            const MatrixElement at = c_element(lane, i);
            c[lane][i] = weight(at.row, at.column);
        }
    }
    const FragmentB expected = true_b(weight);
    for (unsigned half = 0; half < 2; ++half) {  // tokens 0 to 7, then 8 to 15
        Fragment8x8 packed = {};
        for (unsigned lane = 0; lane < kLanes; ++lane) {
            packed[lane] = {from_float<Bf16>(c[lane][2 * half]),
                            from_float<Bf16>(c[lane][2 * half + 1])};
        }
        const Fragment8x8 weights = emulated_movmatrix(packed);
        for (unsigned lane = 0; lane < kLanes; ++lane) {
            for (unsigned i = 0; i < 2; ++i) {
                expect_equal("element " + std::to_string(2 * half + i) + " of B in lane " +
                                 std::to_string(lane),
                             to_float(weights[lane][i]), to_float(expected[lane][2 * half + i]));
            }
        }
    }
}

TEST_CASE("16 elements of the output for 8 heads: V^T weights^T") {
    for (unsigned step = 0; step < kHeadDim / 16; ++step) {
        FragmentC out = {};
        emulated_mma(out, emulated_ldmatrix(tile(), addresses(value_chunk, step), true),
                     b_of(weight));
        const auto values = [&](unsigned d, unsigned token) {
            return number(token, 16 * step + d);
        };
        expect_matrix("out^T", {"elements", 16}, out, product(kTokens, values, weight));
    }
}
