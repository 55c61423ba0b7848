// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// The matrix instructions of a warp on the CPU, after the PTX ISA's own description: written from
// the matrix to the lane, where the kernels go from the lane to the matrix.
#pragma once

#include <nanoserve/model/dtype.hpp>

#include <array>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace nanoserve::testing {

constexpr unsigned kLanes = 32;

/// What all lanes hold: kNum registers each. An element of A and B is 16 bits, two to a register,
/// the first in the lower half; here each 16-bit element has a place of its own.
template <class T, unsigned kNum>
using LaneValues = std::array<std::array<T, kNum>, kLanes>;

using FragmentA = LaneValues<Bf16, 8>;    ///< [16, 16]: registers 0 to 3, two elements each
using FragmentB = LaneValues<Bf16, 4>;    ///< [16, 8]: registers 0 and 1
using FragmentC = LaneValues<float, 4>;   ///< [16, 8]: registers 0 to 3
using Fragment8x8 = LaneValues<Bf16, 2>;  ///< [8, 8]: one register

/// Element [row, column] of an 8 x 8 matrix.
inline Bf16& element(Fragment8x8& matrix, unsigned row, unsigned column) {
    return matrix[row * 4 + column / 2][column % 2];
}

/// Element [m, k] of A: four 8 x 8 matrices, the upper two of k < 8 first.
inline Bf16& a_at(FragmentA& a, unsigned m, unsigned k) {
    return a[m % 8 * 4 + k % 8 / 2][(m / 8 + k / 8 * 2) * 2 + k % 2];
}
/// Element [k, n] of B.
inline Bf16& b_at(FragmentB& b, unsigned k, unsigned n) {
    return b[n * 4 + k % 8 / 2][k / 8 * 2 + k % 2];
}
/// Element [m, n] of C.
inline float& c_at(FragmentC& c, unsigned m, unsigned n) {
    return c[m % 8 * 4 + n / 2][m / 8 * 2 + n % 2];
}

/// mma.m16n8k16: C += A * B.
inline void emulated_mma(FragmentC& c, FragmentA a, FragmentB b) {
    for (unsigned m = 0; m < 16; ++m) {
        for (unsigned n = 0; n < 8; ++n) {
            for (unsigned k = 0; k < 16; ++k) {
                c_at(c, m, n) += to_float(a_at(a, m, k)) * to_float(b_at(b, k, n));
            }
        }
    }
}

/// ldmatrix.x4, with or without .trans: lanes 8 i to 8 i + 7 name the rows of matrix i, which
/// becomes register i. Addresses are bytes.
inline FragmentA emulated_ldmatrix(const std::vector<Bf16>& memory,
                                   const std::array<unsigned, kLanes>& addresses, bool transposed) {
    FragmentA registers = {};
    for (unsigned matrix = 0; matrix < 4; ++matrix) {
        Fragment8x8 fragment = {};
        for (unsigned row = 0; row < 8; ++row) {
            const unsigned address = addresses[matrix * 8 + row];
            if (address % 16 != 0 || address / 2 + 8 > memory.size()) {
                throw std::out_of_range("a row at byte " + std::to_string(address));
            }
            for (unsigned column = 0; column < 8; ++column) {
                const Bf16 x = memory[address / 2 + column];
                (transposed ? element(fragment, column, row) : element(fragment, row, column)) = x;
            }
        }
        for (unsigned lane = 0; lane < kLanes; ++lane) {
            registers[lane][2 * matrix] = fragment[lane][0];
            registers[lane][2 * matrix + 1] = fragment[lane][1];
        }
    }
    return registers;
}

/// movmatrix.trans.
inline Fragment8x8 emulated_movmatrix(Fragment8x8 matrix) {
    Fragment8x8 transposed = {};
    for (unsigned row = 0; row < 8; ++row) {
        for (unsigned column = 0; column < 8; ++column) {
            element(transposed, column, row) = element(matrix, row, column);
        }
    }
    return transposed;
}

}  // namespace nanoserve::testing
