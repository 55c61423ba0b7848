// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// The measurement of a decode day on one cell. No word of CUDA in here, so that the program is the
// same where there is none.
#pragma once

#include "decode_options.hpp"
#include "results.hpp"

namespace nanoserve::gpu_bench {

/// Fills pools on the GPU, checks the outputs, times all reads and ceilings (unless
/// options.check_only), and checks again. A cell that needs too much memory, or that no read takes,
/// comes back skipped, with the reason.
/// Throws std::runtime_error when an output is wrong, CudaError when the GPU fails.
[[nodiscard]] CellResult measure(const DecodeDay& day, const DecodeOptions& options,
                                 const ReadCell& cell);

/// What is foretold for a cell: the rows of all reads and ceilings, without a time. as_peers: the
/// ceiling of the peers' file is among them.
[[nodiscard]] CellResult foretell(const DecodeDay& day, const ReadCell& cell,
                                  bool as_peers = false);

}  // namespace nanoserve::gpu_bench
