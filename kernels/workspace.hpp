// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace nanoserve {

/// Device memory that a launch may use while it runs. Set it to zeros before the first launch;
/// launches leave it ready for the next. Launches that may run at the same time need one each.
struct Workspace {
    void* data = nullptr;       ///< a multiple of 16 bytes; nullptr: none
    std::size_t num_bytes = 0;  ///< from data on
};

}  // namespace nanoserve
