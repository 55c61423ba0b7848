// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <nanoserve/report/plot/picture_files.hpp>
#include <nanoserve/report/plot/picture_style.hpp>

#include <fmt/core.h>

#include <string>

namespace nanoserve::report {
namespace {

std::string terminal(const char* name, double font_scale, double line_width) {
    return fmt::format(
        "{} size {:.0f},{:.0f} font 'DejaVu Sans,15' fontscale {:.3f} linewidth {} "
        "enhanced background '#ffffff'",
        name, kPictureWidth, kPictureHeight, font_scale, line_width);
}

}  // namespace

void draw_png_and_svg(std::string_view commands, const std::filesystem::path& out_stem) {
    draw_picture(fmt::format("point_scale = {}\n{}", 1.0, commands), terminal("pngcairo", 1.0, 1.6),
                 out_stem.string() + ".png");
    // An SVG counts a font in pixels where a PNG counts it in points, which are 4/3 pixels, and its
    // markers and lines come out larger.
    draw_picture(fmt::format("point_scale = {}\n{}", 0.6, commands),
                 terminal("svg dynamic", 4.0 / 3.0, 1.3), out_stem.string() + ".svg");
}

}  // namespace nanoserve::report
