// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace nanoserve {

/// Lets `kernel` take num_bytes of dynamic shared memory on the current device, and takes none away
/// that it was let have before: the limit is the kernel's, not the launch's, and another thread may
/// be about to launch it with more.
/// @throws CudaError for more than a thread block can have
void allow_shared_memory(const void* kernel, int num_bytes);

/// Bytes of shared memory that a thread block can have on the current device, if it is allowed to.
/// @throws CudaError when there is no device
[[nodiscard]] int shared_bytes_of_current_device();

}  // namespace nanoserve
