// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <nanoserve/report/plot/ratio_frame.hpp>

#include <fmt/core.h>

#include <cmath>
#include <iterator>

namespace nanoserve::report {
namespace {

// A decade of ratios, by how wide an axis may be, in decades, for them to carry a number.
struct RoundRatio {
    double value;
    double widest;
};
constexpr RoundRatio kRoundRatios[] = {{1, 99},    {1.1, 0.4}, {1.2, 0.9}, {1.5, 1.2}, {2, 3},
                                       {2.5, 0.9}, {3, 1.2},   {4, 1.2},   {5, 3},     {6, 0.9},
                                       {7, 0.4},   {8, 0.9},   {9, 0.9}};

}  // namespace

PixelPoint ratio_pixel(const RatioFrame& frame, double column, double ratio) {
    return {std::lerp(frame.box.left, frame.box.right, column / frame.width),
            std::lerp(frame.box.bottom, frame.box.top, frame.ratio.part_of(ratio))};
}

std::vector<Tick> ratio_ticks(const LogAxis& axis) {
    std::vector<Tick> ticks;
    const double num_decades = std::log10(axis.max / axis.min);
    const int last = static_cast<int>(std::floor(std::log10(axis.max)));
    for (int decade = static_cast<int>(std::floor(std::log10(axis.min))); decade <= last;
         ++decade) {
        for (const RoundRatio& round : kRoundRatios) {
            const double value = round.value * std::pow(10.0, decade);
            if (value >= axis.min && value <= axis.max) {
                ticks.push_back({value, num_decades <= round.widest ? fmt::format("{:g}", value)
                                                                    : std::string()});
            }
        }
    }
    return ticks;
}

}  // namespace nanoserve::report
