// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// The frame of charts whose columns are things with names: days, cells. Upwards a ratio of two
// times, logarithmic. Pure numbers, no gnuplot.
#pragma once

#include <nanoserve/report/plot/chart_frame.hpp>

#include <string>
#include <vector>

namespace nanoserve::report {

/// Two axes and the box between them. A column is one wide; places on the axis are counted from 0
/// at the left edge.
struct RatioFrame {
    PixelBox box;      ///< in pixels from the lower left corner of the picture
    double width = 1;  ///< of the axis, in columns
    LogAxis ratio;     ///< upwards
    std::vector<Tick> ratio_ticks;
};

/// Where a point of the chart lies.
[[nodiscard]] PixelPoint ratio_pixel(const RatioFrame& frame, double column, double ratio);

/// A tick for each round ratio on the axis; where they would crowd, some carry no number.
[[nodiscard]] std::vector<Tick> ratio_ticks(const LogAxis& axis);

}  // namespace nanoserve::report
