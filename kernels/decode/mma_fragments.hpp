// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kernels/general/host_device.hpp>

namespace nanoserve {

// Who holds what in a product of m16n8k16, C [16, 8] += A [16, 16] * B [16, 8], by the 32 lanes of
// a warp. Lane = 4 * quad + pair. A lane has two neighbouring 16-bit elements in a register of A
// and of B, one float in a register of C:
//
//   A   registers 0 to 3   row quad,     quad + 8, quad,         quad + 8
//                          columns 2 pair, + 1     (0 and 1), 2 pair + 8, + 9     (2 and 3)
//   B   registers 0 and 1  rows 2 pair, + 1 (0), 2 pair + 8, + 9 (1); column quad
//   C   registers 0 to 3   rows quad (0 and 1), quad + 8 (2 and 3); columns 2 pair, 2 pair + 1
//
// The A of a product comes out of shared memory as four 8 x 8 matrices, one for each register:
// lanes 8 i to 8 i + 7 name the rows of matrix i, 16 bytes each.

/// A place in a matrix.
struct MatrixElement {
    unsigned row = 0;     ///< from the top
    unsigned column = 0;  ///< from the left
};

/// 16 bytes, 8 elements, of a row of a tile.
struct RowChunk {
    unsigned row = 0;    ///< a token
    unsigned chunk = 0;  ///< elements 8 chunk to 8 chunk + 7
};

//! [C element]
/// Where element i of a lane's C stands, i = 0 to 3.
NANOSERVE_DEVICE inline MatrixElement c_element(unsigned lane, unsigned i) {
    return {lane / 4 + i / 2 * 8, lane % 4 * 2 + i % 2};
}
//! [C element]

//! [B element]
/// Where element i of a lane's B stands, i = 0 to 3: two in each register.
NANOSERVE_DEVICE inline MatrixElement b_element(unsigned lane, unsigned i) {
    return {lane % 4 * 2 + i / 2 * 8 + i % 2, lane / 4};
}
//! [B element]

//! [key chunk]
/// What a lane names so that 16 tokens of K, elements 0 to 15, become A [token, element]. Elements
/// 16 n to 16 n + 15 are 2 n chunks further on.
NANOSERVE_DEVICE inline RowChunk key_chunk(unsigned lane) {
    return {lane % 8 + lane / 8 % 2 * 8, lane / 16};
}
//! [key chunk]

//! [value chunk]
/// What a lane names so that elements 0 to 15 of 16 tokens of V, each 8 x 8 matrix transposed on
/// the way, become A [element, token].
NANOSERVE_DEVICE inline RowChunk value_chunk(unsigned lane) {
    return {lane % 8 + lane / 16 * 8, lane / 8 % 2};
}
//! [value chunk]

}  // namespace nanoserve
