// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <nanoserve/report/plot/picture_files.hpp>
#include <nanoserve/report/plot/plot_road.hpp>
#include <nanoserve/report/plot/road_script.hpp>

namespace nanoserve::report {

void plot_road(std::span<const RoadDay> days, std::span<const RoadCell> cells,
               const std::filesystem::path& out_stem, const std::vector<std::string>& sources) {
    draw_png_and_svg(road_script(road_picture(days, cells, sources)), out_stem);
}

}  // namespace nanoserve::report
