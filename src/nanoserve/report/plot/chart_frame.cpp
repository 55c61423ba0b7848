// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <nanoserve/report/plot/chart_frame.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace nanoserve::report {
namespace {

// The narrower the axis, the more digits of a decade carry a number; the 1 always does.
bool has_text(int digit, double num_decades) {
    return digit == 1 || num_decades < 1.2 || (num_decades < 2.5 && (digit == 2 || digit == 5));
}

void append(std::vector<PixelPoint>& points, const std::vector<PixelPoint>& more) {
    points.insert(points.end(), more.begin(), more.end());
}

}  // namespace

double LogAxis::part_of(double value) const {
    return std::log(value / min) / std::log(max / min);
}

LogAxis checked_axis(double min, double max) {
    if (!(min > 0) || !std::isfinite(max)) {
        throw std::invalid_argument(
            fmt::format("no logarithmic axis goes from {} to {}", min, max));
    }
    return {min, max};
}

LogAxis padded_axis(double min, double max, double below, double above) {
    const double span = std::max(std::log10(max / min), 1.0);
    return checked_axis(min * std::pow(10, -below * span), max * std::pow(10, above * span));
}

std::vector<Tick> history_ticks(std::span<const double> histories) {
    std::vector<Tick> ticks;
    for (const double tokens : histories) {
        ticks.push_back({tokens, fmt::format("{:.0f}", tokens)});
    }
    return ticks;
}

std::vector<Tick> decade_ticks(const LogAxis& axis) {
    std::vector<Tick> ticks;
    const double num_decades = std::log10(axis.max / axis.min);
    const int last = static_cast<int>(std::floor(std::log10(axis.max)));
    for (int decade = static_cast<int>(std::floor(std::log10(axis.min))); decade <= last;
         ++decade) {
        for (int digit = 1; digit <= 9; ++digit) {
            const double value = digit * std::pow(10.0, decade);
            if (value < axis.min || value > axis.max) {
                continue;
            }
            ticks.push_back({value, has_text(digit, num_decades)
                                        ? fmt::format("{:.{}f}", value, std::max(0, -decade))
                                        : ""});
        }
    }
    return ticks;
}

PixelPoint chart_pixel(const ChartFrame& frame, double tokens, double cost) {
    return {std::lerp(frame.box.left, frame.box.right, frame.history.part_of(tokens)),
            std::lerp(frame.box.bottom, frame.box.top, frame.cost.part_of(cost))};
}

PixelPoint marker_pixel(const ChartFrame& frame, const CostAtHistory& point, double us_per_unit) {
    return chart_pixel(frame, static_cast<double>(point.seq_len), point.best_us / us_per_unit);
}

std::vector<PixelPoint> curve_obstacles(const ChartFrame& frame,
                                        std::span<const CostAtHistory> points, double us_per_unit) {
    std::vector<PixelPoint> obstacles;
    for (std::size_t i = 0; i < points.size(); ++i) {
        const PixelPoint here = marker_pixel(frame, points[i], us_per_unit);
        append(obstacles,
               points_on_line(here, marker_pixel(frame, points[i == 0 ? 0 : i - 1], us_per_unit)));
        // The marker has some width of its own.
        append(obstacles, points_on_line({here.x - 6, here.y}, {here.x + 6, here.y}));
        if (points[i].lo_us) {
            const double tokens = static_cast<double>(points[i].seq_len);
            append(obstacles,
                   points_on_line(chart_pixel(frame, tokens, *points[i].lo_us / us_per_unit),
                                  chart_pixel(frame, tokens, *points[i].hi_us / us_per_unit)));
        }
    }
    return obstacles;
}

std::vector<PixelPoint> name_places(const ChartFrame& frame, std::span<const PixelPoint> ends) {
    constexpr double kLine = 22;
    constexpr double kToTheRight = 24;
    std::vector<double> wanted;
    for (const PixelPoint end : ends) {
        wanted.push_back(end.y);
    }
    std::vector<PixelPoint> places;
    for (const double y : spread_out(wanted, kLine, frame.box.bottom + kLine / 2, frame.box.top)) {
        places.push_back({frame.box.right + kToTheRight, y});
    }
    return places;
}

}  // namespace nanoserve::report
