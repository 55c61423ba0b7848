// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <cuda_runtime_api.h>
#include <kernels/cuda_error.hpp>
#include <kernels/shared_memory.hpp>

#include <algorithm>
#include <map>
#include <mutex>
#include <utility>

namespace nanoserve {

void allow_shared_memory(const void* kernel, int num_bytes) {
    static std::mutex mutex;
    static std::map<std::pair<int, const void*>, int> allowed;  // by device and kernel
    int device = 0;
    NANOSERVE_CUDA_TRY(cudaGetDevice(&device));
    const std::scoped_lock lock(mutex);
    int& most = allowed[{device, kernel}];
    const int wanted = std::max(most, num_bytes);
    NANOSERVE_CUDA_TRY(
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, wanted));
    most = wanted;
}

int shared_bytes_of_current_device() {
    int device = 0, num_bytes = 0;
    NANOSERVE_CUDA_TRY(cudaGetDevice(&device));
    NANOSERVE_CUDA_TRY(
        cudaDeviceGetAttribute(&num_bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
    return num_bytes;
}

}  // namespace nanoserve
