// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <nanoserve/report/plot/paged_read_chart.hpp>
#include <nanoserve/report/plot/paged_read_labels.hpp>

#include <fmt/core.h>

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

// An axis from `min` to `max` with a margin at either end, as parts of their distance on the axis.
LogAxis padded(double min, double max, double below, double above) {
    // A single value gets a decade to itself.
    const double span = std::max(std::log10(max / min), 1.0);
    return {min * std::pow(10, -below * span), max * std::pow(10, above * span)};
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
    chart.history = padded(tokens.front(), tokens.back(), 0.07, 0.07);
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
    chart.cost = padded(min, max, 0.08, 0.10);
}

void set_history_ticks(PagedReadChart& chart, const PagedReadFacts& facts) {
    for (const double tokens : histories(facts)) {
        chart.history_ticks.push_back({tokens, fmt::format("{:.0f}", tokens)});
    }
}

// The narrower the axis, the more digits of a decade carry a number; the 1 always does.
bool has_text(int digit, double num_decades) {
    return digit == 1 || num_decades < 1.2 || (num_decades < 2.5 && (digit == 2 || digit == 5));
}

void set_cost_ticks(PagedReadChart& chart) {
    const double num_decades = std::log10(chart.cost.max / chart.cost.min);
    const int last = static_cast<int>(std::floor(std::log10(chart.cost.max)));
    for (int decade = static_cast<int>(std::floor(std::log10(chart.cost.min))); decade <= last;
         ++decade) {
        for (int digit = 1; digit <= 9; ++digit) {
            const double value = digit * std::pow(10.0, decade);
            if (value < chart.cost.min || value > chart.cost.max) {
                continue;
            }
            chart.cost_ticks.push_back(
                {value, has_text(digit, num_decades)
                            ? fmt::format("{:.{}f}", value, std::max(0, -decade))
                            : ""});
        }
    }
}

double part_of(const LogAxis& axis, double value) {
    return std::log(value / axis.min) / std::log(axis.max / axis.min);
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

PixelPoint chart_pixel(const PagedReadChart& chart, double tokens, double cost) {
    return {std::lerp(kChartBox.left, kChartBox.right, part_of(chart.history, tokens)),
            std::lerp(kChartBox.bottom, kChartBox.top, part_of(chart.cost, cost))};
}

PagedReadChart paged_read_chart(const PagedReadFacts& facts) {
    PagedReadChart chart;
    choose_unit(chart, facts);
    set_guide(chart, facts);
    set_axes(chart, facts);
    set_history_ticks(chart, facts);
    set_cost_ticks(chart);
    if (chart.guide) {
        place_guide_text(chart);
    }
    chart.labels = place_chart_texts(chart, facts);
    return chart;
}

}  // namespace nanoserve::report
