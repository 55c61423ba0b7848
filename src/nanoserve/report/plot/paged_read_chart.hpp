// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// The geometry of the chart: unit, axes, guide and the places of the labels. Pure numbers, no
// gnuplot.
#pragma once

#include <nanoserve/report/plot/chart_frame.hpp>
#include <nanoserve/report/plot/label_placement.hpp>
#include <nanoserve/report/plot/paged_read_facts.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace nanoserve::report {

/// The chart in the picture, in pixels from the lower left corner.
inline constexpr PixelBox kChartBox{134, 1092, 122, 768};

/// Text at its place. `curve` is the index of the read it belongs to; absent for the read floor.
struct PlacedText {
    std::string text;
    PixelPoint centre;
    std::optional<std::size_t> curve;
};

/// A line of slope 1 below all data: time = `per_token` * history, in the chart's unit.
struct Guide {
    double per_token = 0;
    double from = 0;         ///< history at its left end
    double to = 0;           ///< history at its right end
    double angle = 0;        ///< degrees, for the text along it
    PixelPoint text_centre;  ///< where that text goes
};

/// Everything on the chart that has to be computed.
struct PagedReadChart : ChartFrame {
    std::string unit;  ///< "µs" or "ms"
    double us_per_unit = 1;
    std::optional<Guide> guide;  ///< absent with one history
    std::vector<PlacedText> labels;
};

/// Lays the chart out. Milliseconds are the unit when the geometric middle of all costs is 1 ms or
/// more.
[[nodiscard]] PagedReadChart paged_read_chart(const PagedReadFacts& facts);

}  // namespace nanoserve::report
