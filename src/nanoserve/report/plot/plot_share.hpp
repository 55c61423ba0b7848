// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// The plot of a replay: a recorded kernel and the machine at hand, each against its own limit.
#pragma once

#include <nanoserve/report/plot/gnuplot_run.hpp>
#include <nanoserve/report/read_row.hpp>

#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace nanoserve::report {

/// Draws `<out_stem>.png` and `<out_stem>.svg` from the rows of a GPU's record and of a CPU run.
/// Throws as `share_picture` does, and `PlotError` when gnuplot is missing or fails.
void plot_share(std::span<const ReadRow> gpu, std::span<const ReadRow> own,
                const std::filesystem::path& out_stem, const std::vector<std::string>& sources);

}  // namespace nanoserve::report
