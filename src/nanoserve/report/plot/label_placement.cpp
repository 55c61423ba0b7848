// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <nanoserve/report/plot/label_placement.hpp>
#include <nanoserve/report/plot/wrapped_text.hpp>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace nanoserve::report {
namespace {

// Room for half a marker and some air.
constexpr double kGap = 11;

// Labels that touch: the lowest stands at `place()`, each further one a gap above it.
struct Stack {
    std::size_t first = 0;  // in the order of their wishes
    std::size_t count = 0;
    double sum = 0;  // of the places that each would like the lowest to have

    double place(double gap, double low, double high) const {
        const double highest = high - gap * static_cast<double>(count - 1);
        return std::max(low, std::min(highest, sum / static_cast<double>(count)));
    }
};

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

LabelRequest request_for(std::string_view text, PixelPoint anchor, std::vector<LabelSide> sides) {
    constexpr double kCharacterWidth = 9.6;
    constexpr double kHeight = 17;
    return {anchor, kCharacterWidth * static_cast<double>(num_characters(text)), kHeight,
            std::move(sides)};
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

std::vector<double> spread_out(const std::vector<double>& wanted, double gap, double low,
                               double high) {
    std::vector<std::size_t> order(wanted.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, {}, [&](std::size_t i) { return wanted[i]; });
    std::vector<Stack> stacks;
    for (std::size_t i = 0; i < order.size(); ++i) {
        Stack stack{i, 1, wanted[order[i]]};
        while (!stacks.empty() && stacks.back().place(gap, low, high) +
                                          gap * static_cast<double>(stacks.back().count) >
                                      stack.place(gap, low, high)) {
            const Stack below = stacks.back();
            stacks.pop_back();
            const double raised = gap * static_cast<double>(below.count * stack.count);
            stack = {below.first, below.count + stack.count, below.sum + stack.sum - raised};
        }
        stacks.push_back(stack);
    }
    std::vector<double> places(wanted.size());
    for (const Stack& stack : stacks) {
        for (std::size_t i = 0; i < stack.count; ++i) {
            places[order[stack.first + i]] =
                stack.place(gap, low, high) + gap * static_cast<double>(i);
        }
    }
    return places;
}

}  // namespace nanoserve::report
