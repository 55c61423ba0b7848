// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// The GPU in a build without CUDA: there is none.
#include "gpu_facts.hpp"

#include <stdexcept>

namespace nanoserve::gpu_bench {

std::optional<std::string> reason_for_no_measurement() {
    return "the program was built without CUDA (NANOSERVE_CUDA=ON needs nvcc)";
}

report::GpuFacts gpu_facts() {
    throw std::logic_error(*reason_for_no_measurement());
}

std::int64_t l2_bytes() {
    throw std::logic_error(*reason_for_no_measurement());
}

}  // namespace nanoserve::gpu_bench
