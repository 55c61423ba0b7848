// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <nanoserve/model/require.hpp>

#include <kernels/cuda_error.hpp>

namespace nanoserve {

CudaError::CudaError(cudaError_t code, const char* call, const std::source_location& place)
    : std::runtime_error(join_text(call, " failed at ", place.file_name(), ":", place.line(), ": ",
                                   cudaGetErrorName(code), ", ", cudaGetErrorString(code))),
      code_(code) {}

void throw_on_error(cudaError_t code, const char* call, const std::source_location& place) {
    if (code != cudaSuccess) {
        (void)cudaGetLastError();  // reads and clears
        throw CudaError(code, call, place);
    }
}

}  // namespace nanoserve
