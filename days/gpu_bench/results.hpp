// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// What was measured on a GPU, and the files that it leaves behind: CSV rows and the sidecar.
#pragma once

#include "read_cell.hpp"

#include <nanoserve/bench/read_comparison.hpp>
#include <nanoserve/bench/read_timing.hpp>
#include <nanoserve/report/read_row.hpp>
#include <nanoserve/report/sidecar.hpp>
#include <nanoserve/report/temporary_file.hpp>

#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace nanoserve::gpu_bench {

/// One read on one cell.
struct ReadResult {
    std::string read;           ///< "kernel", "gather", "load_only_nhd", ...
    std::string layout;         ///< "NHD" or another order; empty for the contiguous read
    std::string role;           ///< "candidate", "baseline" or "alone"
    ReadTiming timing;          ///< event clock; a sample is one replay of many reads
    double predicted_us = 0.0;  ///< for one read, foretold by the day's prediction.hpp
    std::optional<double> relative_error = {};      ///< against the float64 oracle
    std::optional<ReadComparison> comparison = {};  ///< of a candidate with the baseline
};

/// All reads on one cell.
struct CellResult {
    ReadCell cell;
    std::string skipped = {};     ///< why nothing was measured; empty when something was
    std::int64_t kv_bytes = 0;    ///< that one read has to load
    std::int64_t num_layers = 0;  ///< different pools that a replay goes through
    std::int64_t l2_bytes = 0;    ///< of the GPU's second-level cache; 0 when nothing was measured
    std::int64_t num_checked_seqs = 0;  ///< compared with the oracle; all with another read
    std::vector<ReadResult> reads = {};
    /// More numbers for the sidecar, by name.
    std::vector<std::pair<std::string, std::optional<double>>> facts = {};
};

/// Names and values of options, for the sidecar.
using NamedOptions = std::vector<std::pair<std::string, std::string>>;

/// "day-21-kernel-h200.csv" for the stem "day-21-kernel" and "NVIDIA H200": one file for each kind
/// of GPU.
[[nodiscard]] std::string csv_name(const std::string& stem, const std::string& gpu_name);

/// One row for each read of each cell that was measured. floor_us is the best of load_only_nhd,
/// `cache` what report::cache_state() says of the cell's layers; empty when nothing was measured.
[[nodiscard]] std::vector<report::ReadRow> to_rows(const std::string& machine,
                                                   std::span<const CellResult> cells);

/// Raw samples, options, facts, and where it all comes from.
[[nodiscard]] report::Sidecar to_sidecar(const NamedOptions& options,
                                         const report::Provenance& provenance,
                                         std::span<const CellResult> cells);

/// Throws report::FileError when `write_files` could not write its two files; asked before minutes
/// are spent.
void require_outputs(const std::filesystem::path& folder, const std::string& stem,
                     const std::string& gpu_name);

/// Replaces the CSV of `stem` and this kind of GPU in `folder`, and its sidecar, both or neither;
/// signals wait meanwhile. Returns the CSV's path. Throws report::FileError. A test can fill the
/// disk with another `write`.
std::filesystem::path write_files(const std::filesystem::path& folder, const std::string& stem,
                                  const NamedOptions& options, const report::GpuFacts& gpu,
                                  std::span<const CellResult> cells,
                                  report::WriteBytes write_bytes = &::write);

/// The stem of what a run has so far, after each cell: if it is cut short that is kept, and the
/// files of the run before are as they were.
[[nodiscard]] std::string unfinished(const std::string& stem);

/// `write_files` of a run that is whole, and an end to its unfinished files.
std::filesystem::path finish_files(const std::filesystem::path& folder, const std::string& stem,
                                   const NamedOptions& options, const report::GpuFacts& gpu,
                                   std::span<const CellResult> cells);

}  // namespace nanoserve::gpu_bench
