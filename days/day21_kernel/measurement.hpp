// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// The measurement of Day 21 at one point of the sweep. No word of CUDA in here, so that the program
// is the same where there is none.
#pragma once

#include "options.hpp"

#include <gpu_bench/results.hpp>

namespace nanoserve::day21 {

/// Fills pools on the GPU, checks the outputs, times all reads (unless options.check_only), and
/// checks again. A cell that needs too much memory comes back skipped, with the reason.
/// Throws std::runtime_error when an output is wrong, CudaError when the GPU fails.
[[nodiscard]] gpu_bench::CellResult measure(const Options& options,
                                            const gpu_bench::ReadCell& cell);

}  // namespace nanoserve::day21
