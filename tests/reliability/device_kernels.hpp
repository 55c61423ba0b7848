// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanoserve/attention/paged_attention_params.hpp>

#include <kernels/general/rounding_bounds.hpp>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace nanoserve::testing {

/// A kernel that reads the cache, with a workspace where it wants one.
struct DeviceKernel {
    std::string name;

    /// Reads device parameters on the default stream; `status` is a word of device memory.
    std::function<void(const PagedAttentionParams&, std::uint32_t* status)> launch;

    /// Why it refuses these parameters, whose pointers are not followed; nothing when it takes
    /// them.
    std::function<std::optional<std::string>(const PagedAttentionParams&)> reason_to_refuse;

    /// How far rounding can move its results away from the oracle's; of host parameters.
    std::function<RoundingBounds(const PagedAttentionParams&)> bounds;

    /// As ReadPath has them.
    bool keeps_the_range_of_values = true;
    bool tells_absent_blocks = true;
};

/// All kernels: paged_decode as its plan says, in clusters and balanced, and the front door.
[[nodiscard]] std::vector<DeviceKernel> device_kernels();

}  // namespace nanoserve::testing
