// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <nanoserve/report/number_text.hpp>
#include <nanoserve/report/plot/paged_read_facts.hpp>
#include <nanoserve/report/plot/road_picture.hpp>
#include <nanoserve/report/plot/wrapped_text.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <stdexcept>

namespace nanoserve::report {
namespace {

constexpr std::int64_t kHeadDims[] = {64, 128};
constexpr PixelBox kBoxes[] = {{134, 646, 186, 744}, {918, 1430, 186, 744}};

std::string cell_text(const RoadCell& cell) {
    return fmt::format("{} × {}", cell.num_seqs, cell.seq_len);
}

std::optional<RoadPoint> point_of(const RoadDay& day, std::int64_t head_dim, const RoadCell& cell) {
    const auto row = std::ranges::find_if(day.rows, [&](const ReadRow& each) {
        return each.read == day.read && each.num_q_heads == 32 && each.num_kv_heads == 8 &&
               each.head_dim == head_dim && each.num_seqs == cell.num_seqs &&
               each.seq_len == cell.seq_len && each.pattern == "uniform" && each.layout == "NHD";
    });
    if (row == day.rows.end() || !is_drawable(row->best_us) || !is_drawable(row->floor_us)) {
        return std::nullopt;
    }
    RoadPoint point{.column = 0, .measured = *row->best_us / *row->floor_us, .predicted = {}};
    if (is_drawable(row->predicted_us)) {
        point.predicted = *row->predicted_us / *row->floor_us;
    }
    return point;
}

RoadCurve curve_of(std::span<const RoadDay> days, std::int64_t head_dim, const RoadCell& cell,
                   std::size_t index) {
    RoadCurve curve{cell_text(cell), style_of(index == 1 ? 3 : index), {}};
    curve.style.marker = index == 0 ? 7 : (index == 1 ? 9 : 5);
    for (std::size_t i = 0; i < days.size(); ++i) {
        if (auto point = point_of(days[i], head_dim, cell)) {
            point->column = static_cast<double>(i) + 0.5;
            curve.points.push_back(*point);
        }
    }
    if (curve.points.empty()) {
        throw std::invalid_argument(
            fmt::format("no day has a row for 32/8/{}, {} sequences of {} tokens, with its ceiling",
                        head_dim, cell.num_seqs, cell.seq_len));
    }
    return curve;
}

// The axis holds every panel's points, so that panels can be compared with the eye.
LogAxis axis_of(std::span<const RoadPanel> panels) {
    double min = 1;
    double max = 1;
    for (const RoadPanel& panel : panels) {
        for (const RoadCurve& curve : panel.curves) {
            for (const RoadPoint& point : curve.points) {
                const double predicted = point.predicted.value_or(point.measured);
                min = std::min({min, point.measured, predicted});
                max = std::max({max, point.measured, predicted});
            }
        }
    }
    return padded_axis(min, max, 0.04, 0.04);
}

void place_names(RoadPanel& panel) {
    std::vector<double> wanted;
    for (const RoadCurve& curve : panel.curves) {
        const RoadPoint& last = curve.points.back();
        wanted.push_back(ratio_pixel(panel, last.column, last.measured).y);
    }
    const std::vector<double> places = spread_out(wanted, 22, panel.box.bottom + 11, panel.box.top);
    for (std::size_t i = 0; i < panel.curves.size(); ++i) {
        const RoadPoint& last = panel.curves[i].points.back();
        panel.names.push_back(
            {fmt::format("{}: {} ×", panel.curves[i].name, ratio_text(last.measured)),
             ratio_pixel(panel, last.column, last.measured),
             {panel.box.right + 24, places[i]}});
    }
}

std::vector<RoadLabel> labels_of(std::span<const RoadDay> days) {
    std::vector<RoadLabel> labels;
    for (const RoadDay& day : days) {
        RoadLabel label{static_cast<double>(labels.size()) + 0.5,
                        {fmt::format("Day {}", day.number)}};
        const std::vector<std::string> idea = wrapped(day.idea, 9);
        label.lines.insert(label.lines.end(), idea.begin(), idea.end());
        labels.push_back(std::move(label));
    }
    return labels;
}

// From the first to the last day, in the last cell of the last panel.
std::string title_of(std::span<const RoadDay> days, const RoadPanel& panel, const RoadCell& cell) {
    const std::vector<RoadPoint>& points = panel.curves.back().points;
    const auto day_of = [&](const RoadPoint& point) {
        return days[static_cast<std::size_t>(point.column)].number;
    };
    return fmt::format(
        "{} sequences of {} tokens: from {} times the ceiling on Day {} to {} times on Day {}",
        cell.num_seqs, cell.seq_len, ratio_text(points.front().measured), day_of(points.front()),
        ratio_text(points.back().measured), day_of(points.back()));
}

}  // namespace

RoadPicture road_picture(std::span<const RoadDay> days, std::span<const RoadCell> cells,
                         const std::vector<std::string>& sources) {
    if (days.size() < 2) {
        throw std::invalid_argument(
            fmt::format("a road has 2 days or more with a record, not {}", days.size()));
    }
    RoadPicture picture;
    for (std::size_t i = 0; i < std::size(kHeadDims); ++i) {
        RoadPanel panel;
        panel.box = kBoxes[i];
        panel.width = static_cast<double>(days.size());
        panel.heading = fmt::format("head_dim {}", kHeadDims[i]);
        panel.days = labels_of(days);
        for (const RoadCell& cell : cells) {
            panel.curves.push_back(curve_of(days, kHeadDims[i], cell, panel.curves.size()));
        }
        picture.panels.push_back(std::move(panel));
    }
    const LogAxis axis = axis_of(picture.panels);
    for (RoadPanel& panel : picture.panels) {
        panel.ratio = axis;
        panel.ratio_ticks = ratio_ticks(axis);
        place_names(panel);
    }
    picture.heading.title = title_of(days, picture.panels.back(), cells.back());
    picture.heading.subtitle =
        "sequences × tokens · 32 query heads, 8 KV heads, block_size 16 · filled: the fastest "
        "sample over the load-only read of the same run; open: foretold";
    picture.heading.foot = sources;
    return picture;
}

}  // namespace nanoserve::report
