// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// The road from the first kernel to the ceiling, day by day: all that the picture shows, before any
// of it is drawn.
#pragma once

#include <nanoserve/report/plot/chart_frame.hpp>
#include <nanoserve/report/plot/heading.hpp>
#include <nanoserve/report/plot/picture_style.hpp>
#include <nanoserve/report/plot/ratio_frame.hpp>
#include <nanoserve/report/read_row.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace nanoserve::report {

/// The record of one day.
struct RoadDay {
    int number = 0;             ///< 21, 22, ...
    std::string idea;           ///< two or three words: "shared heads"
    std::string read;           ///< the day's own, as in the column `read`
    std::vector<ReadRow> rows;  ///< all of its record
};

/// A batch that every day reads: uniform, 32 query heads and 8 KV heads.
struct RoadCell {
    std::int64_t num_seqs = 0;  ///< sequences
    std::int64_t seq_len = 0;   ///< tokens of each
};

/// One day's read of one cell, over the load-only read of the same run.
struct RoadPoint {
    double column = 0;
    double measured = 0;
    std::optional<double> predicted;
};

/// One cell over all days that read it; never empty.
struct RoadCurve {
    std::string name;  ///< "64 × 1024"
    CurveStyle style;
    std::vector<RoadPoint> points;
};

/// A day below the axis: number and idea, in lines.
struct RoadLabel {
    double column = 0;
    std::vector<std::string> lines;
};

/// One head_dim.
struct RoadPanel : RatioFrame {
    std::string heading;
    std::vector<RoadCurve> curves;
    std::vector<CurveName> names;  ///< one for each curve, in their order
    std::vector<RoadLabel> days;
};

/// Words and panels, from left to right.
struct RoadPicture {
    Heading heading;
    std::vector<RoadPanel> panels;
};

/// Makes the picture of the days, in their order, for the head_dims 64 and 128. `sources` are lines
/// for the foot. Throws `std::invalid_argument` when there are fewer than two days, and when a cell
/// has no row of any day.
[[nodiscard]] RoadPicture road_picture(std::span<const RoadDay> days,
                                       std::span<const RoadCell> cells,
                                       const std::vector<std::string>& sources);

}  // namespace nanoserve::report
