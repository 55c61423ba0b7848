// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <nanoserve/model/require.hpp>

#include <kernels/cuda_error.hpp>
#include <kernels/device.hpp>

#include <cmath>

namespace nanoserve {

std::optional<std::string> reason_for_no_device() {
    int num_devices = 0;  // CUDA leaves it alone when it fails
    const int code = cudaGetDeviceCount(&num_devices);
    return reason_for_no_device(code, num_devices);
}

std::optional<std::string> reason_for_no_device(int cuda_code, int num_devices) {
    const auto code = static_cast<cudaError_t>(cuda_code);
    if (code == cudaErrorNoDevice || code == cudaErrorInsufficientDriver) {
        (void)cudaGetLastError();
        return join_text("needs a CUDA device: ", cudaGetErrorString(code));
    }
    throw_on_error(code, "cudaGetDeviceCount(&num_devices)");
    return num_devices > 0 ? std::nullopt
                           : std::optional<std::string>("needs a CUDA device: none is visible");
}

std::string describe_device() {
    int device = 0;
    NANOSERVE_CUDA_TRY(cudaGetDevice(&device));
    cudaDeviceProp properties{};
    NANOSERVE_CUDA_TRY(cudaGetDeviceProperties(&properties, device));
    const double gib =
        std::round(static_cast<double>(properties.totalGlobalMem) / 0x1p30 * 10.0) / 10.0;
    return join_text(properties.name, ", sm_", properties.major, properties.minor, ", ",
                     properties.multiProcessorCount, " SMs, ", gib, " GiB");
}

}  // namespace nanoserve
