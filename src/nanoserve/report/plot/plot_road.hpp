// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// The plot of the road from the first kernel to the ceiling.
#pragma once

#include <nanoserve/report/plot/gnuplot_run.hpp>
#include <nanoserve/report/plot/road_picture.hpp>

#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace nanoserve::report {

/// Draws `<out_stem>.png` and `<out_stem>.svg`: a panel for each head_dim with the days' reads of
/// each cell over their ceiling, measured and foretold. Throws as `road_picture` does, and
/// `PlotError` when gnuplot is missing or fails.
void plot_road(std::span<const RoadDay> days, std::span<const RoadCell> cells,
               const std::filesystem::path& out_stem, const std::vector<std::string>& sources);

}  // namespace nanoserve::report
