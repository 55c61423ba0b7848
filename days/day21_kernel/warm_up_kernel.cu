// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// copy_blocks: the warm-up's kernel.
// Data     pool [num_blocks, block_stride], out [logical blocks, block_stride] fp32; table int32
// Work     one thread block for each logical block, one thread for each of its elements
// Traffic  each element of a used block is loaded once and stored once
#include "warm_up.hpp"

#include <gpu_bench/device_memory.hpp>
#include <kernels/cuda_error.hpp>

#include <span>

namespace nanoserve::day21 {
using gpu_bench::copy_to_host;
using gpu_bench::DeviceBuffer;
using gpu_bench::to_device;

namespace {

//! [kernel]
// blockIdx.x is the logical block, threadIdx.x the element in it.
__global__ void copy_blocks_kernel(CopyBlocks copy) {
    copy_element(copy, blockIdx.x, threadIdx.x);
}
//! [kernel]

}  // namespace

std::vector<float> copy_blocks_on_gpu(const std::vector<float>& pool,
                                      const std::vector<std::int32_t>& table, Launch launch) {
    std::vector<float> out(std::size_t{launch.num_blocks} * launch.num_threads);
    //! [launch]
    const DeviceBuffer device_pool = to_device(pool);
    const DeviceBuffer device_table = to_device(table);
    const DeviceBuffer device_out(out.size() * sizeof(float));
    const CopyBlocks copy = {device_pool.as<float>(), device_table.as<std::int32_t>(),
                             device_out.as<float>(), launch.num_threads};
    copy_blocks_kernel<<<launch.num_blocks, launch.num_threads>>>(copy);
    NANOSERVE_CUDA_TRY(cudaGetLastError());
    copy_to_host(std::as_writable_bytes(std::span(out)),
                 device_out.data());  // waits for the kernel
    //! [launch]
    return out;
}

}  // namespace nanoserve::day21
