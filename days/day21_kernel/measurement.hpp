// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// The measurement of Day 21 at one point of the sweep. No word of CUDA in here, so that the program
// is the same where there is none.
#pragma once

#include "options.hpp"

#include <nanoserve/bench/read_comparison.hpp>
#include <nanoserve/bench/read_timing.hpp>
#include <nanoserve/report/provenance.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace nanoserve::day21 {

/// One read on one cell.
struct ReadResult {
    std::string read;           ///< "kernel", "gather", "load_only_nhd", ...
    std::string layout;         ///< "NHD" or "HND"; empty for the contiguous read
    std::string role;           ///< "candidate", "baseline" or "alone"
    ReadTiming timing;          ///< event clock; a sample is one replay, num_layers reads
    double predicted_us = 0.0;  ///< for one read, foretold by prediction.hpp
    std::optional<double> relative_error;  ///< against the float64 oracle
};

/// All reads on one cell.
struct CellResult {
    Cell cell;
    std::string skipped;                ///< why nothing was measured; empty when something was
    std::int64_t kv_bytes = 0;          ///< that one read has to load
    std::int64_t num_layers = 0;        ///< different pools that a replay goes through
    std::int64_t num_checked_seqs = 0;  ///< compared with the oracle; all are compared with gather
    std::vector<ReadResult> reads;
    ReadComparison comparison;  ///< baseline: gather; candidate: kernel; nanoseconds of a replay
    ReadTiming host;            ///< one launch of the kernel and the wait for it, steady clock
};

/// Why no kernel can be measured here, in one line; nullopt when one can.
[[nodiscard]] std::optional<std::string> reason_for_no_measurement();

/// Fills pools on the GPU, checks the outputs, times all reads (unless options.check_only), and
/// checks again. A cell that needs too much memory comes back skipped, with the reason.
/// Throws std::runtime_error when an output is wrong, CudaError when the GPU fails.
[[nodiscard]] CellResult measure(const Options& options, const Cell& cell);

/// Name, CUDA, driver and clocks of the GPU, the clocks taken under load.
[[nodiscard]] report::GpuFacts gpu_facts();

}  // namespace nanoserve::day21
