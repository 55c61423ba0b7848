// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// What a sweep leaves behind: CSV rows, the sidecar, the picture.
#pragma once

#include "sweep.hpp"

#include <nanoserve/bench/fit_read_cost.hpp>
#include <nanoserve/report/provenance.hpp>
#include <nanoserve/report/read_row.hpp>
#include <nanoserve/report/sidecar.hpp>

#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace nanoserve::day20 {

/// Three rows for each point: gather, fused with its comparison, and the read floor.
[[nodiscard]] std::vector<report::ReadRow> to_rows(const Options& options,
                                                   const std::string& machine,
                                                   std::span<const SweepPoint> points);

/// Floor and slope of one read over the histories of `rows`, from its best times; nullopt with
/// fewer than two.
[[nodiscard]] std::optional<ReadCostFit> fit_of(std::span<const report::ReadRow> rows,
                                                std::string_view read);

/// Raw samples, options, fitted scalars and where it all comes from.
[[nodiscard]] report::Sidecar to_sidecar(const Options& options,
                                         const report::Provenance& provenance,
                                         std::span<const SweepPoint> points,
                                         std::span<const report::ReadRow> rows);

/// Throws report::FileError when one of the sweep's files could not be written; asked before
/// minutes are spent.
void require_outputs(const Options& options);

/// Replaces the CSV and its sidecar, both or neither. Throws report::FileError.
void write_files(const Options& options, std::span<const report::ReadRow> rows,
                 const report::Sidecar& sidecar);

/// Draws the pictures from the files, never from memory. Throws report::FileError, also when the
/// two files are of different runs, and report::PlotError.
void draw_plots(const Options& options);

}  // namespace nanoserve::day20
