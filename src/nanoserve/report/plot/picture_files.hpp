// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// One script, two pictures.
#pragma once

#include <nanoserve/report/plot/gnuplot_run.hpp>

#include <array>
#include <filesystem>
#include <string_view>

namespace nanoserve::report {

/// The two files of a picture, `<out_stem>.png` and `<out_stem>.svg`.
[[nodiscard]] std::array<std::filesystem::path, 2> picture_paths(
    const std::filesystem::path& out_stem);

/// Draws `<out_stem>.png` and `<out_stem>.svg`, both `kPictureWidth` by `kPictureHeight`. The
/// commands find the variable `point_scale` set, by which they multiply the sizes of their markers.
/// Both are replaced, or neither; throws as `draw_pictures` does.
void draw_png_and_svg(std::string_view commands, const std::filesystem::path& out_stem);

}  // namespace nanoserve::report
