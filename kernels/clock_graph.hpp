// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// GraphReplay: many launches recorded once, replayed as one.
#pragma once

#include <cuda_runtime_api.h>

#include <concepts>
#include <cstddef>
#include <functional>
#include <memory>

namespace nanoserve {

/// The launches of a callable as a CUDA graph. A replay costs the host one call whatever the number
/// of launches, so the GPU goes from kernel to kernel without waiting for it: a sample is one
/// replay of N reads over N layers, and a read costs a N-th of it.
///
/// Pointers and sizes are those of the recording; what they point at may change between replays.
/// The stream is borrowed and must outlive the object.
class GraphReplay {
  public:
    /// Calls `record` once, with `stream` in capture mode: what it launches on the stream is
    /// recorded instead of run. It must not synchronise and must not allocate device memory; launch
    /// each kernel once before, so that its code is loaded.
    ///
    /// Throws what `record` throws, CudaError when the capture fails, and std::invalid_argument
    /// when nothing was launched on the stream or it is the default stream, which can't be
    /// captured.
    template <std::invocable Record>
    GraphReplay(cudaStream_t stream, Record&& record) : stream_(stream) {
        begin_capture();
        try {
            std::invoke(record);
        } catch (...) {
            abandon_capture();
            throw;
        }
        end_capture();
    }

    /// Launches the whole recording on the stream and returns at once. Throws CudaError.
    void launch() const;

    /// The same, so that the harness can call a replay as it calls any read.
    void operator()() const { launch(); }

    /// Kernels, copies and fills that were recorded.
    [[nodiscard]] std::size_t num_nodes() const { return num_nodes_; }

  private:
    struct DestroyExec {
        void operator()(cudaGraphExec_t exec) const noexcept { (void)cudaGraphExecDestroy(exec); }
    };

    void begin_capture() const;
    void abandon_capture() const noexcept;
    void end_capture();

    cudaStream_t stream_;
    std::size_t num_nodes_ = 0;
    std::unique_ptr<CUgraphExec_st, DestroyExec> exec_;
};

}  // namespace nanoserve
