// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// The warm-up: a kernel of one line for readers who have never written one. It copies the blocks of
// a sequence out of the pool, in the order of its table.
#pragma once

#include <kernels/general/host_device.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace nanoserve::day21 {

//! [arguments]
/// What the kernel gets: pointers and strides, by value.
struct CopyBlocks {
    const float* pool = nullptr;          ///< [num_blocks, block_stride]
    const std::int32_t* table = nullptr;  ///< logical block -> block of the pool
    float* out = nullptr;                 ///< [logical blocks, block_stride]
    std::int64_t block_stride = 0;        ///< elements from one block to the next
};
//! [arguments]

//! [one thread]
// What one thread does: element `thread` of logical block `block`.
NANOSERVE_DEVICE inline void copy_element(const CopyBlocks& copy, unsigned block, unsigned thread) {
    const std::int64_t place = copy.table[block];               // a load: where the block lies
    const float* from = copy.pool + place * copy.block_stride;  // a pointer and a stride
    float* to = copy.out + std::int64_t{block} * copy.block_stride;
    to[thread] = from[thread];  // a load and a store
}
//! [one thread]

/// The sizes of the launch.
struct Launch {
    unsigned num_blocks = 0;   ///< thread blocks: gridDim.x
    unsigned num_threads = 0;  ///< threads in each: blockDim.x
};

/// Runs the kernel on the GPU, on copies of `pool` and `table`; gives back what it stored.
/// Throws CudaError when the GPU fails.
[[nodiscard]] std::vector<float> copy_blocks_on_gpu(const std::vector<float>& pool,
                                                    const std::vector<std::int32_t>& table,
                                                    Launch launch);

/// Runs every thread of the launch on the CPU, one after the other, and on the GPU where there is
/// one; tells which elements each thread block loaded and stored. Throws std::runtime_error when
/// the two disagree.
[[nodiscard]] std::string tell_warm_up();

}  // namespace nanoserve::day21
