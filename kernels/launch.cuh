// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <utility>

namespace nanoserve {

/// Launches a kernel and says what came of that launch, of no other: cudaGetLastError() would bring
/// up what an earlier call of the program left, for a kernel that runs. Use it in
/// NANOSERVE_CUDA_TRY, which names the kernel and leaves no error behind.
template <class... Parameters, class... Args>
[[nodiscard]] cudaError_t launch_kernel(void (*kernel)(Parameters...), dim3 grid, dim3 block,
                                        std::size_t shared_bytes, cudaStream_t stream,
                                        Args&&... args) {
    cudaLaunchConfig_t config = {};
    config.gridDim = grid;
    config.blockDim = block;
    config.dynamicSmemBytes = shared_bytes;
    config.stream = stream;
    return cudaLaunchKernelEx(&config, kernel, std::forward<Args>(args)...);
}

}  // namespace nanoserve
