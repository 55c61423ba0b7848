// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <kernels/cuda_error.hpp>
#include <kernels/decode/compiled_for.hpp>

namespace nanoserve {
namespace {

// Compiled as all kernels of the library are.
__global__ void asked_about() {}

}  // namespace

int compiled_for() {
    cudaFuncAttributes attributes = {};
    NANOSERVE_CUDA_TRY(cudaFuncGetAttributes(&attributes, asked_about));
    return attributes.ptxVersion;
}

}  // namespace nanoserve
