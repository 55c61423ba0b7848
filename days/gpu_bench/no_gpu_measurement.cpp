// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// The measurement of a decode day in a build without CUDA: there is none.
#include "decode_measurement.hpp"
#include "gpu_facts.hpp"

#include <stdexcept>

namespace nanoserve::gpu_bench {

CellResult measure(const DecodeDay&, const DecodeOptions&, const ReadCell&) {
    throw std::logic_error(*reason_for_no_measurement());
}

}  // namespace nanoserve::gpu_bench
