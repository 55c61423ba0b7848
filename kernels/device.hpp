// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

namespace nanoserve {

/// Why there is no GPU to run on: no driver, or no device. nullopt when there is one. Any other
/// CUDA error throws CudaError, so that a broken installation is not taken for a missing one.
[[nodiscard]] std::optional<std::string> reason_for_no_device();

/// The same from the answer of cudaGetDeviceCount: its code, as an int so that this header needs no
/// CUDA, and its count. For tests of drivers that this machine doesn't have.
[[nodiscard]] std::optional<std::string> reason_for_no_device(int cuda_code, int num_devices);

/// The current device in one line, for example "NVIDIA H200, sm_90, 132 SMs, 139.8 GiB". Throws
/// CudaError when there is none.
[[nodiscard]] std::string describe_device();

}  // namespace nanoserve
