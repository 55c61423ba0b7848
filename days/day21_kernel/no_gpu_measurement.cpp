// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// The measurement in a build without CUDA: there is none.
#include "measurement.hpp"
#include "warm_up.hpp"

#include <gpu_bench/gpu_facts.hpp>

#include <stdexcept>

namespace nanoserve::day21 {

gpu_bench::CellResult measure(const Options&, const gpu_bench::ReadCell&) {
    throw std::logic_error(*gpu_bench::reason_for_no_measurement());
}

std::vector<float> copy_blocks_on_gpu(const std::vector<float>&, const std::vector<std::int32_t>&,
                                      Launch) {
    throw std::logic_error(*gpu_bench::reason_for_no_measurement());
}

}  // namespace nanoserve::day21
