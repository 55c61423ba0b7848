// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// What all our charts share, in the language of gnuplot: heading, data, axes.
#pragma once

#include <nanoserve/report/plot/chart_frame.hpp>
#include <nanoserve/report/plot/gnuplot_script.hpp>
#include <nanoserve/report/plot/heading.hpp>
#include <nanoserve/report/plot/paged_read_facts.hpp>
#include <nanoserve/report/plot/picture_style.hpp>
#include <nanoserve/report/plot/ratio_frame.hpp>

#include <span>
#include <string>
#include <string_view>

namespace nanoserve::report {

/// Writes the lines of the heading, each as large as fits the picture.
void write_heading(GnuplotScript& script, const Heading& heading);

/// A named data block, so that the script can be studied and drawn again by hand: history, best, lo
/// and hi of each point, in the chart's unit.
void write_points(GnuplotScript& script, std::string_view name,
                  std::span<const CostAtHistory> points, double us_per_unit);

/// What `plot` draws of a data block, for `write_plot`: its intervals, and its curve. `title` is a
/// gnuplot clause, such as `notitle`.
[[nodiscard]] std::string bars_of(std::string_view block, std::string_view colour);
[[nodiscard]] std::string curve_of(std::string_view block, const CurveStyle& style,
                                   std::string_view title);

/// The `plot` command over these elements; each lies above the one before it.
void write_plot(GnuplotScript& script, std::span<const std::string> elements);

/// Margins, ranges, ticks and grid of a chart, and the titles of its axes.
void write_axes(GnuplotScript& script, const ChartFrame& frame, std::string_view cost_title);

/// Margins, ranges, ticks and grid of a chart of ratios; the columns have no ticks.
void write_ratio_axes(GnuplotScript& script, const RatioFrame& frame);

/// A name in its place, tied to the end of its curve by a thin line.
void write_name(GnuplotScript& script, const CurveName& name, std::string_view colour,
                bool is_bold = false);

}  // namespace nanoserve::report
