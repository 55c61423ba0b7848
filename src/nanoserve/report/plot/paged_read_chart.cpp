// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <nanoserve/report/plot/paged_read_chart.hpp>
#include <nanoserve/report/plot/paged_read_labels.hpp>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <set>

namespace nanoserve::report {
namespace {

template <typename Visit>
void for_each_point(const PagedReadFacts& facts, Visit visit) {
    for (const ReadCurve& curve : facts.reads) {
        std::for_each(curve.points.begin(), curve.points.end(), visit);
    }
    std::for_each(facts.floor.begin(), facts.floor.end(), visit);
}

std::vector<double> histories(const PagedReadFacts& facts) {
    std::set<std::int64_t> distinct;
    for_each_point(facts, [&](const CostAtHistory& point) { distinct.insert(point.seq_len); });
    return {distinct.begin(), distinct.end()};
}

void choose_unit(PagedReadChart& chart, const PagedReadFacts& facts) {
    double min_us = facts.reads.front().points.front().best_us;
    double max_us = min_us;
    for (const ReadCurve& curve : facts.reads) {
        for (const CostAtHistory& point : curve.points) {
            min_us = std::min(min_us, point.best_us);
            max_us = std::max(max_us, point.best_us);
        }
    }
    const bool is_ms = std::sqrt(min_us) * std::sqrt(max_us) >= 1000;
    chart.unit = is_ms ? "ms" : "µs";
    chart.us_per_unit = is_ms ? 1000 : 1;
}

// Below all points, and only as far to the left as it stays within a factor of 3 of them: a flat
// curve should not be pressed against the top by its own guide.
void set_guide(PagedReadChart& chart, const PagedReadFacts& facts) {
    const std::vector<double> tokens = histories(facts);
    if (tokens.size() < 2) {
        return;
    }
    double lowest = HUGE_VAL;
    double lowest_per_token = HUGE_VAL;
    for_each_point(facts, [&](const CostAtHistory& point) {
        const double cost = point.best_us / chart.us_per_unit;
        lowest = std::min(lowest, cost);
        lowest_per_token = std::min(lowest_per_token, cost / static_cast<double>(point.seq_len));
    });
    Guide guide;
    guide.per_token = 0.55 * lowest_per_token;
    guide.to = tokens.back();
    const double leftmost = tokens[tokens.size() > 2 ? 1 : 0];
    guide.from = std::min(std::max(leftmost, lowest / 3 / guide.per_token), guide.to / 3);
    guide.from = std::max(guide.from, tokens.front());
    chart.guide = guide;
}

void set_axes(PagedReadChart& chart, const PagedReadFacts& facts) {
    const std::vector<double> tokens = histories(facts);
    chart.history = padded_axis(tokens.front(), tokens.back(), 0.07, 0.07);
    double min = HUGE_VAL;
    double max = 0;
    for_each_point(facts, [&](const CostAtHistory& point) {
        min = std::min(min,
                       std::min(point.best_us, point.lo_us.value_or(HUGE_VAL)) / chart.us_per_unit);
        max = std::max(max, std::max(point.best_us, point.hi_us.value_or(0)) / chart.us_per_unit);
    });
    if (chart.guide) {
        min = std::min(min, chart.guide->per_token * chart.guide->from);
    }
    chart.cost = padded_axis(min, max, 0.08, 0.10);
}

// The text runs along the guide, a line's height below it: nothing else is down there.
void place_guide_text(PagedReadChart& chart) {
    Guide& guide = *chart.guide;
    const PixelPoint from = chart_pixel(chart, guide.from, guide.per_token * guide.from);
    const PixelPoint to = chart_pixel(chart, guide.to, guide.per_token * guide.to);
    const double radians = std::atan2(to.y - from.y, to.x - from.x);
    guide.angle = radians * 180 / std::numbers::pi;
    guide.text_centre = {std::lerp(from.x, to.x, 0.62) + 16 * std::sin(radians),
                         std::lerp(from.y, to.y, 0.62) - 16 * std::cos(radians)};
}

}  // namespace

PagedReadChart paged_read_chart(const PagedReadFacts& facts) {
    PagedReadChart chart;
    chart.box = kChartBox;
    choose_unit(chart, facts);
    set_guide(chart, facts);
    set_axes(chart, facts);
    chart.history_ticks = history_ticks(histories(facts));
    chart.cost_ticks = decade_ticks(chart.cost);
    if (chart.guide) {
        place_guide_text(chart);
    }
    chart.labels = place_chart_texts(chart, facts);
    return chart;
}

}  // namespace nanoserve::report
