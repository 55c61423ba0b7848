// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// The measurement in a build without CUDA: there is none.
#include "measurement.hpp"
#include "warm_up.hpp"

#include <stdexcept>

namespace nanoserve::day21 {

namespace {
constexpr const char* kReason = "the program was built without CUDA (NANOSERVE_CUDA=ON needs nvcc)";
}

std::optional<std::string> reason_for_no_measurement() {
    return kReason;
}

CellResult measure(const Options&, const Cell&) {
    throw std::logic_error(kReason);
}

report::GpuFacts gpu_facts() {
    throw std::logic_error(kReason);
}

std::vector<float> copy_blocks_on_gpu(const std::vector<float>&, const std::vector<std::int32_t>&,
                                      Launch) {
    throw std::logic_error(kReason);
}

}  // namespace nanoserve::day21
