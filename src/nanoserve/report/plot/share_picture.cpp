// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <nanoserve/report/number_text.hpp>
#include <nanoserve/report/plot/kernel_curves.hpp>
#include <nanoserve/report/plot/paged_read_finding.hpp>
#include <nanoserve/report/plot/share_picture.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <set>
#include <stdexcept>
#include <utility>

namespace nanoserve::report {
namespace {

std::string percent_text(double percent) {
    return digits_text(percent) + " %";
}

std::string shape_text(const AttentionShape& shape) {
    return fmt::format("{}/{}/{}", shape.num_q_heads, shape.num_kv_heads, shape.head_dim);
}

std::vector<SharePoint> shares_of(std::span<const ReadRow> rows, std::string_view read) {
    std::vector<SharePoint> points;
    for (const ReadRow& row : rows) {
        if (row.read == read && row.seq_len > 0 && is_drawable(row.best_us) &&
            is_drawable(row.floor_us)) {
            points.push_back({row.seq_len, 100 * *row.floor_us / *row.best_us});
        }
    }
    std::ranges::sort(points, {}, &SharePoint::seq_len);
    return points;
}

AttentionShape shape_of(std::span<const ReadRow> own) {
    const auto row = std::ranges::find(own, "streaming", &ReadRow::read);
    if (row == own.end()) {
        throw std::invalid_argument("the own run has no row of the read \"streaming\"");
    }
    return {.num_q_heads = static_cast<std::int32_t>(row->num_q_heads),
            .num_kv_heads = static_cast<std::int32_t>(row->num_kv_heads),
            .head_dim = static_cast<std::int32_t>(row->head_dim)};
}

std::vector<ShareCurve> kernel_batches(std::span<const ReadRow> gpu, const AttentionShape& shape) {
    std::set<std::int64_t> batches;
    for (const ReadRow& row : gpu) {
        batches.insert(row.num_seqs);
    }
    std::vector<ShareCurve> curves;
    for (const std::int64_t num_seqs : batches) {
        const auto points = shares_of(rows_of(gpu, shape, num_seqs), "kernel");
        if (!points.empty()) {
            curves.push_back(
                {fmt::format("GPU kernel, {} sequence{}", num_seqs, num_seqs == 1 ? "" : "s"),
                 style_of(3 + curves.size()), points});
        }
    }
    if (curves.empty()) {
        throw std::invalid_argument(
            fmt::format("the record has no row of the read \"kernel\" for {}", shape_text(shape)));
    }
    return curves;
}

// The kernel's largest batch against the own read, on the longest history that both have.
std::string title_of(const ShareCurve& kernel, const ShareCurve& own) {
    for (auto mine = own.points.rbegin(); mine != own.points.rend(); ++mine) {
        const auto theirs = std::ranges::find(kernel.points, mine->seq_len, &SharePoint::seq_len);
        if (theirs != kernel.points.end()) {
            return fmt::format(
                "At {} tokens the kernel is at {} of its ceiling with {}, this machine's streaming "
                "read at {} of its own",
                mine->seq_len, percent_text(theirs->percent),
                kernel.name.substr(kernel.name.find(", ") + 2), percent_text(mine->percent));
        }
    }
    throw std::invalid_argument(
        fmt::format("\"{}\" and \"{}\" have no history in common", kernel.name, own.name));
}

void add_limit(std::vector<ShareCurve>& curves) {
    ShareCurve limit{"the limit", kFloorStyle, {}};
    for (const ShareCurve& curve : curves) {
        for (const SharePoint& point : curve.points) {
            limit.points.push_back({point.seq_len, 100});
        }
    }
    const auto by_history = [](const SharePoint& a, const SharePoint& b) {
        return a.seq_len < b.seq_len;
    };
    const auto [first, last] = std::ranges::minmax(limit.points, by_history);
    limit.points = {first, last};
    curves.insert(curves.begin(), std::move(limit));
}

void set_axes(SharePicture& picture) {
    std::set<double> tokens;
    double min = 100;
    double max = 100;
    for (const ShareCurve& curve : picture.curves) {
        for (const SharePoint& point : curve.points) {
            tokens.insert(static_cast<double>(point.seq_len));
            min = std::min(min, point.percent);
            max = std::max(max, point.percent);
        }
    }
    picture.box = {134, 1270, 170, 790};
    picture.history = padded_axis(*tokens.begin(), *tokens.rbegin(), 0.04, 0.02);
    picture.cost = padded_axis(min, max, 0.06, 0.05);
    picture.history_ticks = history_ticks(std::vector<double>(tokens.begin(), tokens.end()));
    picture.cost_ticks = decade_ticks(picture.cost);
}

void place_names(SharePicture& picture) {
    std::vector<PixelPoint> ends;
    for (const ShareCurve& curve : picture.curves) {
        ends.push_back(chart_pixel(picture, static_cast<double>(curve.points.back().seq_len),
                                   curve.points.back().percent));
    }
    const std::vector<PixelPoint> places = name_places(picture, ends);
    for (std::size_t i = 0; i < ends.size(); ++i) {
        const ShareCurve& curve = picture.curves[i];
        picture.names.push_back(
            {fmt::format("{} {}", curve.name, percent_text(curve.points.back().percent)), ends[i],
             places[i]});
    }
}

}  // namespace

SharePicture share_picture(std::span<const ReadRow> gpu, std::span<const ReadRow> own,
                           const std::vector<std::string>& sources) {
    const AttentionShape shape = shape_of(own);
    SharePicture picture;
    picture.curves = kernel_batches(gpu, shape);
    const ShareCurve own_curve{"own streaming read", kCurveStyles[2], shares_of(own, "streaming")};
    if (own_curve.points.empty()) {
        throw std::invalid_argument("the own run has no read floor");
    }
    picture.heading.title = title_of(picture.curves.back(), own_curve);
    picture.heading.subtitle = device_line(rows_of(own, shape, 0), rows_of(gpu, shape, 0));
    picture.heading.foot = sources;
    picture.curves.push_back(own_curve);
    add_limit(picture.curves);
    set_axes(picture);
    place_names(picture);
    return picture;
}

}  // namespace nanoserve::report
