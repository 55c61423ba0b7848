// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// The size, colours and marks of all our pictures.
#pragma once

#include <cstddef>
#include <iterator>

namespace nanoserve::report {

/// Pixels.
inline constexpr double kPictureWidth = 1680;
inline constexpr double kPictureHeight = 960;

inline constexpr const char* kInk = "#1f2933";
inline constexpr const char* kMuted = "#5f6b77";
inline constexpr const char* kGridColour = "#e4e8ec";
inline constexpr const char* kFloorColour = "#7b8794";
inline constexpr const char* kGuideColour = "#a9b2bc";
inline constexpr const char* kPanelColour = "#f6f8fa";
inline constexpr const char* kPanelEdge = "#d8dee4";

/// How one curve is drawn; `marker` is a gnuplot point type, `dash` a gnuplot dash type.
struct CurveStyle {
    const char* colour;
    int marker;
    double marker_size;
    const char* dash;
    double line_width;
};

/// Discs and rings come first: a ring centred on its disc shows that two reads agree.
inline constexpr CurveStyle kCurveStyles[] = {
    {"#0b6fb8", 7, 1.3, "solid", 2.2},  {"#d4550a", 6, 2.2, "(5,4)", 1.5},
    {"#2b8a3e", 5, 1.2, "solid", 2.2},  {"#7048b6", 9, 1.5, "solid", 2.2},
    {"#0c8599", 13, 1.6, "solid", 2.2}, {"#a61e4d", 11, 1.5, "solid", 2.2}};

/// A floor or a ceiling: what no read can beat.
inline constexpr CurveStyle kFloorStyle = {kFloorColour, 7, 0.5, "(4,3)", 1.5};

/// The style of the curve with this index; after the last one they begin again.
[[nodiscard]] inline const CurveStyle& style_of(std::size_t curve) {
    return kCurveStyles[curve % std::size(kCurveStyles)];
}

}  // namespace nanoserve::report
