// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanoserve/model/dtype.hpp>

#include <kernels/general/host_device.hpp>

#include <bit>
#include <cstdint>
#include <type_traits>

#if defined(__CUDACC__)
#include <cuda_fp16.h>
#endif

namespace nanoserve {

/// Sixteen bytes of a row: 8 elements of 16 bits, or 4 of fp32.
struct alignas(16) Chunk {
    std::uint32_t words[4] = {};
};

/// Where a chunk stands: chunks from the start of a pool, the same for K and V.
using ChunkIndex = std::uint32_t;

/// There is no such chunk.
constexpr ChunkIndex kNoChunk = 0xffffffffu;

/// to_float, in one instruction on a GPU, which has one for fp16.
template <class T>
NANOSERVE_DEVICE float widened(T x) {
#if defined(__CUDA_ARCH__)
    if constexpr (std::is_same_v<T, Fp16>) {
        return __half2float(__ushort_as_half(x.bits));
    }
#endif
    return to_float(x);
}

/// Element i of a chunk of T.
template <class T>
NANOSERVE_DEVICE float element_of(const Chunk& chunk, int i) {
    if constexpr (sizeof(T) == sizeof(std::uint32_t)) {
        return std::bit_cast<float>(chunk.words[i]);
    } else {
        const std::uint32_t pair = chunk.words[i / 2];
        return widened(T{static_cast<std::uint16_t>(i % 2 == 0 ? pair : pair >> 16)});
    }
}

}  // namespace nanoserve
