// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <source_location>
#include <stdexcept>

namespace nanoserve {

/// A CUDA call that failed. The message holds the call, its place in the source, the error's name
/// and its text.
class CudaError : public std::runtime_error {
  public:
    /// `call` is the text of the call that gave `code`, `place` where it stands.
    CudaError(cudaError_t code, const char* call, const std::source_location& place);

    /// As the call returned it.
    [[nodiscard]] cudaError_t code() const { return code_; }

  private:
    cudaError_t code_;
};

/// Throws CudaError unless `code` is cudaSuccess, and clears the error so that the next call does
/// not report it again. Use it through NANOSERVE_CUDA_TRY, which knows the text of the call.
void throw_on_error(cudaError_t code, const char* call,
                    const std::source_location& place = std::source_location::current());

}  // namespace nanoserve

/// Evaluates a CUDA call and throws nanoserve::CudaError when it fails.
#define NANOSERVE_CUDA_TRY(call) ::nanoserve::throw_on_error((call), #call)
