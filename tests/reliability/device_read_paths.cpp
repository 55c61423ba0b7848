// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// The kernels. Each read copies everything that the host parameters point at, poison included, to
// the device and the results back.
#include "reliability/device_kernels.hpp"
#include "reliability/read_path.hpp"
#include "support/device_case.hpp"

#include <kernels/device.hpp>

namespace nanoserve::testing {
namespace {

std::uint32_t read_on_device(const DeviceKernel& kernel, const PagedAttentionParams& host) {
    DeviceCase device(host);
    device.poison_outputs();
    kernel.launch(device.params(), device.status());
    const DeviceResult result = device.result();
    std::memcpy(host.out, result.out.data(), result.out.size());
    if (host.lse != nullptr) {
        std::memcpy(host.lse, result.lse.data(), result.lse.size() * sizeof(float));
    }
    return result.status;
}

}  // namespace

std::vector<ReadPath> read_paths() {
    std::vector<ReadPath> paths;
    for (const DeviceKernel& kernel : device_kernels()) {
        paths.push_back({.name = kernel.name,
                         .read = [kernel](const auto& p) { return read_on_device(kernel, p); },
                         .reason_to_refuse = kernel.reason_to_refuse,
                         .bounds = kernel.bounds,
                         .keeps_the_range_of_values = kernel.keeps_the_range_of_values,
                         .tells_absent_blocks = kernel.tells_absent_blocks});
    }
    return paths;
}

std::optional<std::string> reason_for_no_paths() {
    return reason_for_no_device();
}

}  // namespace nanoserve::testing
