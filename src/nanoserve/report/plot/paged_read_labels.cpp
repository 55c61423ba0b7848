// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <nanoserve/report/number_text.hpp>
#include <nanoserve/report/plot/paged_read_labels.hpp>

#include <cmath>
#include <numbers>
#include <span>
#include <utility>

namespace nanoserve::report {
namespace {

constexpr const char* kFloorText = "read floor";

PixelPoint marker_pixel(const PagedReadChart& chart, const CostAtHistory& point) {
    return report::marker_pixel(chart, point, chart.us_per_unit);
}

void append(std::vector<PixelPoint>& points, const std::vector<PixelPoint>& more) {
    points.insert(points.end(), more.begin(), more.end());
}

void append_guide(std::vector<PixelPoint>& obstacles, const PagedReadChart& chart) {
    const Guide& guide = *chart.guide;
    const double radians = guide.angle * std::numbers::pi / 180;
    const PixelPoint half{90 * std::cos(radians), 90 * std::sin(radians)};
    const PixelPoint text = guide.text_centre;
    append(obstacles, points_on_line(chart_pixel(chart, guide.from, guide.per_token * guide.from),
                                     chart_pixel(chart, guide.to, guide.per_token * guide.to)));
    append(obstacles,
           points_on_line({text.x - half.x, text.y - half.y}, {text.x + half.x, text.y + half.y}));
}

std::vector<PixelPoint> obstacles_of(const PagedReadChart& chart, const PagedReadFacts& facts) {
    std::vector<PixelPoint> obstacles;
    for (const ReadCurve& curve : facts.reads) {
        append(obstacles, curve_obstacles(chart, curve.points, chart.us_per_unit));
    }
    append(obstacles, curve_obstacles(chart, facts.floor, chart.us_per_unit));
    if (chart.guide) {
        append_guide(obstacles, chart);
    }
    return obstacles;
}

// The slowest read of a history is labelled above its curve, the others below theirs, as long as
// there is room.
std::vector<LabelSide> preferred_sides(const PagedReadFacts& facts, std::size_t curve,
                                       const CostAtHistory& point) {
    using enum LabelSide;
    bool is_slowest = true;
    for (std::size_t other = 0; other < facts.reads.size(); ++other) {
        for (const CostAtHistory& rival : facts.reads[other].points) {
            const bool is_above =
                rival.best_us > point.best_us || (rival.best_us == point.best_us && other < curve);
            is_slowest = is_slowest && !(rival.seq_len == point.seq_len && is_above);
        }
    }
    if (is_slowest) {
        return {kAboveLeft, kAbove, kLeft, kAboveRight, kRight, kBelowRight, kBelow, kBelowLeft};
    }
    return {kBelowRight, kBelow, kRight, kBelowLeft, kLeft, kAboveRight, kAbove, kAboveLeft};
}

}  // namespace

std::vector<PlacedText> place_chart_texts(const PagedReadChart& chart,
                                          const PagedReadFacts& facts) {
    std::vector<LabelRequest> requests;
    std::vector<PlacedText> texts;
    for (std::size_t curve = 0; curve < facts.reads.size(); ++curve) {
        for (const CostAtHistory& point : facts.reads[curve].points) {
            texts.push_back({digits_text(point.best_us / chart.us_per_unit), {}, curve});
            requests.push_back(request_for(texts.back().text, marker_pixel(chart, point),
                                           preferred_sides(facts, curve, point)));
        }
    }
    const std::size_t num_values = texts.size();
    for (auto point = facts.floor.rbegin(); point != facts.floor.rend(); ++point) {
        using enum LabelSide;
        texts.push_back({kFloorText, {}, std::nullopt});
        requests.push_back(request_for(kFloorText, marker_pixel(chart, *point),
                                       {kBelowRight, kBelow, kBelowLeft, kAboveLeft, kRight}));
    }
    const auto boxes = place_labels(requests, obstacles_of(chart, facts), kChartBox);
    std::vector<PlacedText> placed;
    for (std::size_t i = 0; i < boxes.size(); ++i) {
        if (boxes[i]) {
            texts[i].centre = boxes[i]->centre();
            placed.push_back(texts[i]);
        }
        if (boxes[i] && i >= num_values) {
            break;  // one name is enough
        }
    }
    return placed;
}

}  // namespace nanoserve::report
