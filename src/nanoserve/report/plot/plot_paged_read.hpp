// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// The plot of Day 20 and after: what one paged read costs against the history that it reads.
#pragma once

#include <nanoserve/report/plot/gnuplot_run.hpp>
#include <nanoserve/report/read_row.hpp>

#include <filesystem>
#include <span>
#include <string_view>

namespace nanoserve::report {

/// Draws `<out_stem>.png` and `<out_stem>.svg`: one curve for each read in the rows (in the order
/// of `paged_read_facts`), the read floor as a grey dashed line, and two panels of findings.
/// Everything in them is computed from the rows.
///
/// The rows are of one machine, dtype, thread count and shape. `caption` is the line at the foot,
/// usually `plot_caption(provenance)`. Throws `std::invalid_argument` when there is nothing to draw
/// or a read has two rows for one history, and `PlotError` when gnuplot is missing or fails.
void plot_paged_read(std::span<const ReadRow> rows, const std::filesystem::path& out_stem,
                     std::string_view caption);

}  // namespace nanoserve::report
