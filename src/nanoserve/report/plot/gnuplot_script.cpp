// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <nanoserve/report/plot/gnuplot_script.hpp>

#include <fmt/core.h>

namespace nanoserve::report {

void GnuplotScript::line(std::string_view commands) {
    text_.append(commands).append("\n");
}

void GnuplotScript::label(const std::string& literal, PixelPoint at, int size,
                          std::string_view colour, std::string_view align, double angle) {
    line(fmt::format(
        "set label {} at screen {:.5f},{:.5f} {} rotate by {:.1f} front tc rgb '{}' font 'DejaVu "
        "Sans,{}'",
        literal, at.x / width_, at.y / height_, align, angle, colour, size));
}

void GnuplotScript::line(PixelPoint from, PixelPoint to, std::string_view how) {
    line(fmt::format("set arrow from screen {:.5f},{:.5f} to screen {:.5f},{:.5f} front {}",
                     from.x / width_, from.y / height_, to.x / width_, to.y / height_, how));
}

void GnuplotScript::rectangle(const PixelBox& box, std::string_view fill, std::string_view border) {
    line(fmt::format(
        "set object rect from screen {:.5f},{:.5f} to screen {:.5f},{:.5f} behind fc rgb '{}' fs "
        "solid 1.0 {}",
        box.left / width_, box.bottom / height_, box.right / width_, box.top / height_, fill,
        border));
}

}  // namespace nanoserve::report
