// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// Where the numbers beside the points go, so that none covers a curve, a marker or another number.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace nanoserve::report {

/// Pixels; x grows to the right and y upwards.
struct PixelPoint {
    double x = 0;
    double y = 0;
};

/// An upright rectangle in pixels.
struct PixelBox {
    double left = 0;
    double right = 0;
    double bottom = 0;
    double top = 0;

    [[nodiscard]] PixelPoint centre() const { return {(left + right) / 2, (bottom + top) / 2}; }
    [[nodiscard]] bool contains(PixelPoint point) const;
    [[nodiscard]] bool overlaps(const PixelBox& other) const;
    [[nodiscard]] bool holds(const PixelBox& other) const;
};

/// From the anchor to the label.
enum class LabelSide {
    kAboveLeft,
    kAbove,
    kAboveRight,
    kRight,
    kBelowRight,
    kBelow,
    kBelowLeft,
    kLeft
};

/// A label of this size wants to stand beside `anchor`, on the first free side of the list.
struct LabelRequest {
    PixelPoint anchor;
    double width = 0;
    double height = 0;
    std::vector<LabelSide> sides;
};

/// A request for a text of 12 points.
[[nodiscard]] LabelRequest request_for(std::string_view text, PixelPoint anchor,
                                       std::vector<LabelSide> sides);

/// The points of a straight line, close enough that no label slips between two of them.
[[nodiscard]] std::vector<PixelPoint> points_on_line(PixelPoint from, PixelPoint to);

/// Gives each label the first of its sides that lies inside `bounds` and covers neither an obstacle
/// nor an earlier label. A label for which there is no such side is left out: an absent number
/// misleads nobody.
[[nodiscard]] std::vector<std::optional<PixelBox>> place_labels(
    std::span<const LabelRequest> requests, std::span<const PixelPoint> obstacles,
    const PixelBox& bounds);

/// For labels one below the other that would like to stand at `wanted`: places in the same order,
/// at least `gap` apart and within `low` and `high` as long as there is room, each group that
/// would overlap moved as little as can be.
[[nodiscard]] std::vector<double> spread_out(const std::vector<double>& wanted, double gap,
                                             double low, double high);

}  // namespace nanoserve::report
