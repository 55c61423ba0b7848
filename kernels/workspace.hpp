// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace nanoserve {

/// Device memory that a launch may use while it runs. Set it to zeros before the first launch;
/// launches leave it ready for the next, of whatever batch and shape it is large enough for.
/// Launches that may run at the same time need one each.
struct Workspace {
    void* data = nullptr;       ///< a multiple of 16 bytes; nullptr: none
    std::size_t num_bytes = 0;  ///< from data on
};

/// When a launch starts.
enum class LaunchOrder {
    after_previous,       ///< when everything before it on the stream is done
    overlapping_previous  ///< while the kernel before it ends: it gets its thread blocks ready,
                          ///< then waits for that kernel's end before it reads or writes anything.
                          ///< From compute capability 9.0 on, in code compiled for it, else as
                          ///< after_previous
};

}  // namespace nanoserve
