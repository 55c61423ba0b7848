// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kernels/general/host_device.hpp>

#include <numeric>

namespace nanoserve {

// Shared memory has 32 banks of 4 bytes: address / 4 % 32. A warp's access of 16 bytes a lane is
// answered 8 lanes at a time, and as fast as possible when those 8 chunks stand in different banks,
// that is, at different addresses / 16 % 8. Two kinds of 8 lanes read or write a tile:
//   - 8 neighbouring chunks of one row, or of two rows that are shorter: the copies, and whoever
//     takes a row as a whole;
//   - chunk c of 8 neighbouring rows: an 8 x 8 matrix for the tensor cores.
// Row after row as in the pool, the second kind would find chunks in the same banks: all 8 of them
// where a row is a multiple of 128 bytes.

/// So many neighbouring chunks of a row change places with each other: 8, which fill all banks, or
/// 4 where a row is an odd multiple of 64 bytes.
template <int kRowBytes>
constexpr unsigned kSwizzleChunks = std::gcd(kRowBytes / 16, 8);

//! [bank swizzle]
/// The swap of a row's chunks: chunk c stands where chunk c ^ chunk_rotation(row) would. Less than
/// kSwizzleChunks. Where a row fills all banks, each of 8 neighbouring rows has a swap of its own;
/// where two rows do, those two share one.
template <int kRowBytes>
NANOSERVE_DEVICE inline unsigned chunk_rotation(unsigned row) {
    constexpr unsigned kSpan = kSwizzleChunks<kRowBytes>;
    return row / (8 / kSpan) % kSpan;
}
//! [bank swizzle]

/// Bytes from a tile's start to 16-byte chunk `chunk` of row `row`.
template <int kRowBytes>
NANOSERVE_DEVICE inline unsigned chunk_offset(unsigned row, unsigned chunk) {
    return row * kRowBytes + ((chunk ^ chunk_rotation<kRowBytes>(row)) << 4);
}

}  // namespace nanoserve
