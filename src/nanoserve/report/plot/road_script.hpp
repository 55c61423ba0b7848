// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// The picture of the road in the language of gnuplot.
#pragma once

#include <nanoserve/report/plot/road_picture.hpp>

#include <string>

namespace nanoserve::report {

/// gnuplot 5.4 commands that draw the picture on the terminal that is set. They hold the data and
/// read no file. The variable `point_scale` has to be set before them: 1 for a PNG.
[[nodiscard]] std::string road_script(const RoadPicture& picture);

}  // namespace nanoserve::report
