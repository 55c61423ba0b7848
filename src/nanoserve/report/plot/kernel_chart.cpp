// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <nanoserve/report/number_text.hpp>
#include <nanoserve/report/plot/kernel_chart.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <utility>

namespace nanoserve::report {
namespace {

std::vector<double> histories(std::span<const NamedCurve> curves) {
    std::set<std::int64_t> distinct;
    for (const NamedCurve& curve : curves) {
        for (const CostAtHistory& point : curve.points) {
            distinct.insert(point.seq_len);
        }
    }
    return {distinct.begin(), distinct.end()};
}

void set_axes(ChartFrame& frame, std::span<const NamedCurve> curves) {
    const std::vector<double> tokens = histories(curves);
    double min = HUGE_VAL;
    double max = 0;
    for (const NamedCurve& curve : curves) {
        for (const CostAtHistory& point : curve.points) {
            min = std::min({min, point.best_us, point.lo_us.value_or(HUGE_VAL)});
            max = std::max({max, point.best_us, point.hi_us.value_or(0)});
        }
    }
    frame.history = padded_axis(tokens.front(), tokens.back(), 0.06, 0.03);
    frame.cost = padded_axis(min, max, 0.04, 0.04);
    frame.history_ticks = history_ticks(tokens);
    frame.cost_ticks = decade_ticks(frame.cost);
}

const NamedCurve& kernel_of(const KernelChart& chart) {
    return chart.curves.back();
}

// The arrow keeps clear of the two markers.
void set_gap(KernelChart& chart) {
    constexpr double kClear = 9;
    const TimesLimit limit = times_limit(chart.curves, kernel_of(chart).name, kKernelCeilingName);
    const auto& points = kernel_of(chart).points;
    const auto kernel = std::ranges::find(points, limit.seq_len, &CostAtHistory::seq_len);
    const double tokens = static_cast<double>(limit.seq_len);
    const PixelPoint from = marker_pixel(chart, *kernel, 1);
    const PixelPoint to = chart_pixel(chart, tokens, kernel->best_us / limit.times);
    if (from.y - to.y > 3 * kClear) {
        chart.gap = {.from = {from.x, from.y - kClear},
                     .to = {to.x, to.y + kClear},
                     .text = ratio_text(limit.times) + " ×",
                     .text_at = {}};
    }
}

// The gap's number stands among the names.
void place_names(KernelChart& chart) {
    std::vector<PixelPoint> ends;
    for (const NamedCurve& curve : chart.curves) {
        ends.push_back(marker_pixel(chart, curve.points.back(), 1));
    }
    if (chart.gap) {
        ends.push_back({chart.gap->from.x, std::midpoint(chart.gap->from.y, chart.gap->to.y)});
    }
    const std::vector<PixelPoint> places = name_places(chart, ends);
    for (std::size_t i = 0; i < chart.curves.size(); ++i) {
        const NamedCurve& curve = chart.curves[i];
        chart.names.push_back(
            {fmt::format("{} {}", curve.name, duration_text(curve.points.back().best_us)), ends[i],
             places[i]});
    }
    if (chart.gap) {
        chart.gap->text_at = places.back();
    }
}

// The last value is part of the name.
void place_values(KernelChart& chart) {
    using enum LabelSide;
    std::vector<PixelPoint> obstacles;
    for (const NamedCurve& curve : chart.curves) {
        const auto more = curve_obstacles(chart, curve.points, 1);
        obstacles.insert(obstacles.end(), more.begin(), more.end());
    }
    std::vector<LabelRequest> requests;
    const auto& points = kernel_of(chart).points;
    for (const CostAtHistory& point : std::span(points).first(points.size() - 1)) {
        chart.values.push_back({digits_text(point.best_us), {}});
        requests.push_back(request_for(chart.values.back().text, marker_pixel(chart, point, 1),
                                       {kBelowRight, kBelow, kRight, kBelowLeft, kAboveLeft}));
    }
    const auto boxes = place_labels(requests, obstacles, chart.box);
    std::vector<ValueText> placed;
    for (std::size_t i = 0; i < boxes.size(); ++i) {
        if (boxes[i]) {
            placed.push_back({chart.values[i].text, boxes[i]->centre()});
        }
    }
    chart.values = std::move(placed);
}

bool has_curve(const KernelChart& chart, const char* name) {
    return std::ranges::find(chart.curves, name, &NamedCurve::name) != chart.curves.end();
}

std::string_view without_device(std::string_view name) {
    constexpr std::string_view kDevice = "GPU ";
    return name.starts_with(kDevice) ? name.substr(kDevice.size()) : name;
}

std::string remark_of(const KernelChart& chart, const std::string& baseline) {
    const auto times = [&](std::string_view name, std::string_view limit) {
        return ratio_text(times_limit(chart.curves, name, limit).times);
    };
    const std::string& kernel = kernel_of(chart).name;
    std::string text = fmt::format("times its limit at {} tokens: {} {}",
                                   times_limit(chart.curves, kernel, kKernelCeilingName).seq_len,
                                   without_device(kernel), times(kernel, kKernelCeilingName));
    if (!baseline.empty()) {
        const std::string name = gpu_read_name(baseline);
        text += fmt::format(" · {} {}", name, times(name, kKernelCeilingName));
    }
    if (has_curve(chart, "CPU streaming")) {
        text += " · CPU streaming " + times("CPU streaming", "CPU read floor");
    }
    return text;
}

}  // namespace

KernelChart kernel_chart(std::vector<NamedCurve> curves, const std::string& baseline,
                         std::int64_t num_seqs, const PixelBox& box,
                         std::span<const NamedCurve> shared) {
    KernelChart chart;
    chart.box = box;
    chart.heading = fmt::format("{} sequence{}", num_seqs, num_seqs == 1 ? "" : "s");
    chart.curves = std::move(curves);
    set_axes(chart, shared);
    chart.remark = remark_of(chart, baseline);
    set_gap(chart);
    place_names(chart);
    place_values(chart);
    return chart;
}

}  // namespace nanoserve::report
