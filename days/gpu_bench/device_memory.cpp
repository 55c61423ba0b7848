// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include "device_memory.hpp"

#include <kernels/cuda_error.hpp>

#include <cstdint>

namespace nanoserve::gpu_bench {

DeviceBuffer::DeviceBuffer(std::size_t num_bytes) : num_bytes_(num_bytes) {
    void* data = nullptr;
    NANOSERVE_CUDA_TRY(cudaMalloc(&data, num_bytes));
    data_.reset(static_cast<std::byte*>(data));
}

template <class T>
DeviceBuffer to_device(const std::vector<T>& elements) {
    DeviceBuffer buffer(elements.size() * sizeof(T));
    NANOSERVE_CUDA_TRY(
        cudaMemcpy(buffer.data(), elements.data(), buffer.num_bytes(), cudaMemcpyHostToDevice));
    return buffer;
}

template DeviceBuffer to_device(const std::vector<std::int32_t>& elements);
template DeviceBuffer to_device(const std::vector<float>& elements);

void copy_to_host(std::span<std::byte> to, const void* from) {
    NANOSERVE_CUDA_TRY(cudaMemcpy(to.data(), from, to.size(), cudaMemcpyDeviceToHost));
}

Stream::Stream() {
    cudaStream_t stream = nullptr;
    NANOSERVE_CUDA_TRY(cudaStreamCreate(&stream));
    stream_.reset(stream);
}

void Stream::synchronize() const {
    NANOSERVE_CUDA_TRY(cudaStreamSynchronize(stream_.get()));
}

}  // namespace nanoserve::gpu_bench
