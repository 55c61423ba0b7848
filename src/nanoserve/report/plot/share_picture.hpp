// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// How much of its own limit each machine reaches: a GPU's kernel and the machine at hand.
#pragma once

#include <nanoserve/report/plot/chart_frame.hpp>
#include <nanoserve/report/plot/heading.hpp>
#include <nanoserve/report/plot/picture_style.hpp>
#include <nanoserve/report/read_row.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace nanoserve::report {

/// 100 * time of the limit / time of the read, from the fastest sample of each.
struct SharePoint {
    std::int64_t seq_len = 0;
    double percent = 0;
};

/// One read over all its histories, shortest first; never empty.
struct ShareCurve {
    std::string name;
    CurveStyle style;
    std::vector<SharePoint> points;
};

/// Words, numbers and places. The unit of the cost axis is a percent.
struct SharePicture : ChartFrame {
    Heading heading;
    std::vector<ShareCurve> curves;  ///< the limit, the kernel batch by batch, the own read
    std::vector<CurveName> names;    ///< one for each curve, in their order
};

/// Makes the picture of the "kernel" rows of a GPU that have the shape of the own "streaming" rows;
/// both hold their limit in floor_us. `sources` are lines for the foot. Throws
/// `std::invalid_argument` when either has no such row, or they share no history.
[[nodiscard]] SharePicture share_picture(std::span<const ReadRow> gpu, std::span<const ReadRow> own,
                                         const std::vector<std::string>& sources);

}  // namespace nanoserve::report
