// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <catch2/catch_test_macros.hpp>
#include <kernels/device.hpp>

namespace nanoserve::testing {

/// Skips the test case, with the reason, where there is no GPU.
inline void needs_gpu() {
    if (const auto reason = reason_for_no_device()) {
        SKIP(*reason);
    }
}

}  // namespace nanoserve::testing
