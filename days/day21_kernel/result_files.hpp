// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// What a run on a GPU leaves behind: CSV rows and the sidecar.
#pragma once

#include "measurement.hpp"

#include <nanoserve/report/read_row.hpp>
#include <nanoserve/report/sidecar.hpp>

#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace nanoserve::day21 {

/// "day-21-kernel-h200.csv" for "NVIDIA H200": one file for each kind of GPU.
[[nodiscard]] std::string csv_name(const std::string& gpu_name);

/// One row for each read of each cell that was measured. floor_us is the best of load_only_nhd.
[[nodiscard]] std::vector<report::ReadRow> to_rows(const Options& options,
                                                   const std::string& machine,
                                                   std::span<const CellResult> cells);

/// Raw samples, options, what the host sees, and where it all comes from.
[[nodiscard]] report::Sidecar to_sidecar(const Options& options,
                                         const report::Provenance& provenance,
                                         std::span<const CellResult> cells);

/// Replaces the CSV of this kind of GPU and its sidecar in options.data. Returns the CSV's path.
/// Throws report::FileError.
std::filesystem::path write_files(const Options& options, const report::GpuFacts& gpu,
                                  std::span<const CellResult> cells);

}  // namespace nanoserve::day21
