// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <nanoserve/report/plot/label_placement.hpp>

#include <algorithm>
#include <cmath>

namespace nanoserve::report {
namespace {

// Room for half a marker and some air.
constexpr double kGap = 11;

// -1, 0, 1: the label lies left of, over, right of the anchor; and below, level with, above it.
struct Direction {
    int x;
    int y;
};

Direction direction_of(LabelSide side) {
    switch (side) {
        case LabelSide::kAboveLeft:
            return {-1, 1};
        case LabelSide::kAbove:
            return {0, 1};
        case LabelSide::kAboveRight:
            return {1, 1};
        case LabelSide::kRight:
            return {1, 0};
        case LabelSide::kBelowRight:
            return {1, -1};
        case LabelSide::kBelow:
            return {0, -1};
        case LabelSide::kBelowLeft:
            return {-1, -1};
        case LabelSide::kLeft:
            return {-1, 0};
    }
    return {0, 0};
}

PixelBox box_at(const LabelRequest& request, LabelSide side) {
    const Direction direction = direction_of(side);
    // On a diagonal the gap is shared by both axes.
    const double gap = direction.x != 0 && direction.y != 0 ? kGap / 1.5 : 1.2 * kGap;
    const double x = request.anchor.x + direction.x * (gap + request.width / 2);
    const double y = request.anchor.y + direction.y * (gap + request.height / 2);
    return {x - request.width / 2, x + request.width / 2, y - request.height / 2,
            y + request.height / 2};
}

bool is_free(const PixelBox& box, std::span<const PixelPoint> obstacles,
             std::span<const std::optional<PixelBox>> placed) {
    return std::none_of(obstacles.begin(), obstacles.end(),
                        [&](PixelPoint point) { return box.contains(point); }) &&
           std::none_of(placed.begin(), placed.end(),
                        [&](const auto& other) { return other && box.overlaps(*other); });
}

}  // namespace

bool PixelBox::contains(PixelPoint point) const {
    return left <= point.x && point.x <= right && bottom <= point.y && point.y <= top;
}

bool PixelBox::overlaps(const PixelBox& other) const {
    return left < other.right && other.left < right && bottom < other.top && other.bottom < top;
}

bool PixelBox::holds(const PixelBox& other) const {
    return left <= other.left && other.right <= right && bottom <= other.bottom && other.top <= top;
}

std::vector<PixelPoint> points_on_line(PixelPoint from, PixelPoint to) {
    constexpr double kStep = 4;
    const double length = std::hypot(to.x - from.x, to.y - from.y);
    const int num_steps = std::max(1, static_cast<int>(std::ceil(length / kStep)));
    std::vector<PixelPoint> points;
    for (int i = 0; i <= num_steps; ++i) {
        const double part = static_cast<double>(i) / num_steps;
        points.push_back({std::lerp(from.x, to.x, part), std::lerp(from.y, to.y, part)});
    }
    return points;
}

std::vector<std::optional<PixelBox>> place_labels(std::span<const LabelRequest> requests,
                                                  std::span<const PixelPoint> obstacles,
                                                  const PixelBox& bounds) {
    std::vector<std::optional<PixelBox>> placed;
    for (const LabelRequest& request : requests) {
        std::optional<PixelBox> spot;
        for (const LabelSide side : request.sides) {
            const PixelBox box = box_at(request, side);
            if (bounds.holds(box) && is_free(box, obstacles, placed)) {
                spot = box;
                break;
            }
        }
        placed.push_back(spot);
    }
    return placed;
}

}  // namespace nanoserve::report
