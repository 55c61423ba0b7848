// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace nanoserve {

/// The compute capability, times 10, that the kernels which the current device runs were compiled
/// for: less than the device's own where the driver compiles PTX of an older one. Such code has no
/// instruction of the newer.
/// @throws CudaError when there is no device, or no code for it
[[nodiscard]] int compiled_for();

}  // namespace nanoserve
