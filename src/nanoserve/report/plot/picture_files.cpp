// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <nanoserve/report/plot/picture_files.hpp>
#include <nanoserve/report/plot/picture_style.hpp>

#include <fmt/core.h>

#include <string>
#include <utility>

namespace nanoserve::report {
namespace {

std::string terminal(const char* name, double font_scale, double line_width) {
    return fmt::format(
        "{} size {:.0f},{:.0f} font 'DejaVu Sans,15' fontscale {:.3f} linewidth {} "
        "enhanced background '#ffffff'",
        name, kPictureWidth, kPictureHeight, font_scale, line_width);
}

}  // namespace

std::array<std::filesystem::path, 2> picture_paths(const std::filesystem::path& out_stem) {
    return {out_stem.string() + ".png", out_stem.string() + ".svg"};
}

void draw_png_and_svg(std::string_view commands, const std::filesystem::path& out_stem) {
    const auto picture = [&](std::filesystem::path path, std::string terminal, double point_scale) {
        return Picture{std::move(path), std::move(terminal),
                       fmt::format("point_scale = {}\n{}", point_scale, commands)};
    };
    // An SVG counts a font in pixels where a PNG counts it in points, which are 4/3 pixels, and its
    // markers and lines come out larger.
    const auto [png, svg] = picture_paths(out_stem);
    const Picture pictures[] = {
        picture(png, terminal("pngcairo", 1.0, 1.6), 1.0),
        picture(svg, terminal("svg dynamic", 4.0 / 3.0, 1.3), 0.6),
    };
    draw_pictures(pictures);
}

}  // namespace nanoserve::report
