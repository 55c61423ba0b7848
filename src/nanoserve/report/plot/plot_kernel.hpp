// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// The plot of Day 21 and after: a kernel between the CPU's reads and its own ceiling.
#pragma once

#include <nanoserve/report/plot/gnuplot_run.hpp>
#include <nanoserve/report/plot/kernel_curves.hpp>

#include <filesystem>
#include <string>
#include <vector>

namespace nanoserve::report {

/// Draws `<out_stem>.png` and `<out_stem>.svg`: for each batch a chart with the kernel, its gather
/// baseline, both ceilings and, where the CPU read as many sequences, the CPU's reads. Everything
/// in them is computed from the rows. Throws as `kernel_picture` does, and `PlotError` when gnuplot
/// is missing or fails.
void plot_kernel(const KernelRows& rows, const std::filesystem::path& out_stem,
                 const std::vector<std::string>& sources);

}  // namespace nanoserve::report
