// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// The frame that our charts share: time over history, both logarithmic. Pure numbers, no gnuplot.
#pragma once

#include <nanoserve/report/plot/label_placement.hpp>
#include <nanoserve/report/plot/paged_read_facts.hpp>

#include <span>
#include <string>
#include <vector>

namespace nanoserve::report {

/// A logarithmic axis.
struct LogAxis {
    double min = 1;
    double max = 10;

    /// Where `value` lies: 0 at `min`, 1 at `max`.
    [[nodiscard]] double part_of(double value) const;
};

/// An axis from `min` to `max`. Throws `std::invalid_argument` unless both are positive and finite.
[[nodiscard]] LogAxis checked_axis(double min, double max);

/// An axis from `min` to `max` with a margin at either end, as parts of their distance on the axis.
/// A single value gets a decade to itself. Throws as `checked_axis` does.
[[nodiscard]] LogAxis padded_axis(double min, double max, double below, double above);

/// A tick; one without text is a minor one.
struct Tick {
    double value = 0;
    std::string text;
};

/// A tick with its number for each history.
[[nodiscard]] std::vector<Tick> history_ticks(std::span<const double> histories);

/// A tick for each digit of each decade; the narrower the axis, the more of them carry a number.
[[nodiscard]] std::vector<Tick> decade_ticks(const LogAxis& axis);

/// Two axes and the box between them.
struct ChartFrame {
    PixelBox box;     ///< in pixels from the lower left corner of the picture
    LogAxis history;  ///< tokens
    LogAxis cost;     ///< in the unit of the chart
    std::vector<Tick> history_ticks;
    std::vector<Tick> cost_ticks;
};

/// Where a point of the chart lies; `cost` is in the chart's unit.
[[nodiscard]] PixelPoint chart_pixel(const ChartFrame& frame, double tokens, double cost);

/// Where the marker of a point lies.
[[nodiscard]] PixelPoint marker_pixel(const ChartFrame& frame, const CostAtHistory& point,
                                      double us_per_unit);

/// What no label may cover of a curve: its line, its markers and its bars.
[[nodiscard]] std::vector<PixelPoint> curve_obstacles(const ChartFrame& frame,
                                                      std::span<const CostAtHistory> points,
                                                      double us_per_unit);

/// The name of a curve with its last value, to the right of its end.
struct CurveName {
    std::string text;
    PixelPoint end;  ///< where the curve ends
    PixelPoint at;   ///< where the text begins, at half its height
};

/// Places for texts of 13 points that belong to `ends`: one column to the right of the chart, each
/// as near to its end as the others leave room for.
[[nodiscard]] std::vector<PixelPoint> name_places(const ChartFrame& frame,
                                                  std::span<const PixelPoint> ends);

}  // namespace nanoserve::report
