// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// The kernels. Each read copies everything that the host parameters point at, poison included, to
// the device and the results back.
#include "reliability/read_path.hpp"
#include "support/device_case.hpp"

#include <kernels/decode/plan.hpp>
#include <kernels/decode/rounding_bounds.hpp>
#include <kernels/device.hpp>
#include <kernels/dispatch.hpp>
#include <kernels/general_attention.hpp>
#include <kernels/paged_attention.hpp>
#include <kernels/paged_decode.hpp>

#include <stdexcept>

namespace nanoserve::testing {
namespace {

using Kernel = void (*)(const PagedAttentionParams&, cudaStream_t, std::uint32_t*);

std::uint32_t read_on_device(Kernel kernel, const PagedAttentionParams& host) {
    DeviceCase device(host);
    device.poison_outputs();
    kernel(device.params(), nullptr, device.status());
    const DeviceResult result = device.result();
    std::memcpy(host.out, result.out.data(), result.out.size());
    if (host.lse != nullptr) {
        std::memcpy(host.lse, result.lse.data(), result.lse.size() * sizeof(float));
    }
    return result.status;
}

std::optional<std::string> reason_not_general(const PagedAttentionParams& p) {
    try {
        (void)make_paged_attention_args(p, nullptr);
    } catch (const std::invalid_argument& error) {
        return error.what();
    }
    return {};
}

RoundingBounds front_door_bounds(const PagedAttentionParams& p) {
    return choose_kernel(p) == AttentionKernel::decode ? paged_decode_rounding_bounds(p)
                                                       : paged_attention_rounding_bounds(p);
}

}  // namespace

std::vector<ReadPath> read_paths() {
    const auto path = [](const char* name, Kernel kernel, auto reason_to_refuse, auto bounds,
                         bool keeps_the_range_of_values) {
        return ReadPath{.name = name,
                        .read = [kernel](const auto& p) { return read_on_device(kernel, p); },
                        .reason_to_refuse = reason_to_refuse,
                        .bounds = bounds,
                        .keeps_the_range_of_values = keeps_the_range_of_values};
    };
    return {path("general_attention", general_attention, reason_not_general,
                 paged_attention_rounding_bounds, true),
            path("paged_decode", paged_decode, reason_not_to_decode, paged_decode_rounding_bounds,
                 false),
            path("paged_attention", paged_attention, reason_not_general, front_door_bounds, false)};
}

std::optional<std::string> reason_for_no_paths() {
    return reason_for_no_device();
}

}  // namespace nanoserve::testing
