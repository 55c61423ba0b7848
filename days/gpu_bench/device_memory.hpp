// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// Owners of device memory and of a stream.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

namespace nanoserve::gpu_bench {

/// Device memory that is freed at the end. Not initialised.
class DeviceBuffer {
  public:
    DeviceBuffer() = default;
    /// Throws CudaError when the memory is not to be had.
    explicit DeviceBuffer(std::size_t num_bytes);

    [[nodiscard]] std::byte* data() const { return data_.get(); }
    [[nodiscard]] std::size_t num_bytes() const { return num_bytes_; }

    /// The memory as elements of T.
    template <class T>
    [[nodiscard]] T* as() const {
        return reinterpret_cast<T*>(data());
    }

  private:
    struct Free {
        void operator()(std::byte* data) const noexcept { (void)cudaFree(data); }
    };

    std::unique_ptr<std::byte, Free> data_;
    std::size_t num_bytes_ = 0;
};

/// A copy on the device of host elements.
template <class T>
[[nodiscard]] DeviceBuffer to_device(const std::vector<T>& elements);

/// Copies from the device, after all work of the default stream and of blocking streams.
void copy_to_host(std::span<std::byte> to, const void* from);

/// A stream that is destroyed at the end.
class Stream {
  public:
    Stream();
    [[nodiscard]] cudaStream_t get() const { return stream_.get(); }
    void synchronize() const;

  private:
    struct Destroy {
        void operator()(cudaStream_t stream) const noexcept { (void)cudaStreamDestroy(stream); }
    };
    std::unique_ptr<CUstream_st, Destroy> stream_;
};

}  // namespace nanoserve::gpu_bench
