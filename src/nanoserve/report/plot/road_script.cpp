// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <nanoserve/report/number_text.hpp>
#include <nanoserve/report/plot/chart_script.hpp>
#include <nanoserve/report/plot/gnuplot_text.hpp>
#include <nanoserve/report/plot/road_script.hpp>

#include <fmt/core.h>

#include <utility>

namespace nanoserve::report {
namespace {

std::string block_name(std::size_t panel, std::size_t curve) {
    return fmt::format("$PANEL{}_CURVE{}", panel, curve);
}

void write_data(GnuplotScript& script, const RoadPanel& panel, std::size_t index) {
    for (std::size_t i = 0; i < panel.curves.size(); ++i) {
        script.line(block_name(index, i) + " << EOD");
        script.line("# column measured predicted");
        for (const RoadPoint& point : panel.curves[i].points) {
            script.line(fmt::format("{} {} {}", exact_text(point.column),
                                    exact_text(point.measured),
                                    point.predicted ? exact_text(*point.predicted) : "NaN"));
        }
        script.line("EOD");
    }
}

void write_texts(GnuplotScript& script, const RoadPanel& panel, bool is_first) {
    script.label(gnuplot_bold(panel.heading), {panel.box.left - 77, panel.box.top + 34}, 16, kInk);
    if (is_first) {  // the axis is the same for all
        script.label(gnuplot_label("times the load-only read"),
                     {panel.box.left - 80, panel.box.centre().y}, 14, kInk, "center", 90);
    }
    for (const RoadLabel& day : panel.days) {
        PixelPoint at = ratio_pixel(panel, day.column, panel.ratio.min);
        at.y -= 22;
        for (std::size_t i = 0; i < day.lines.size(); ++i) {
            script.label(i == 0 ? gnuplot_bold(day.lines[i]) : gnuplot_label(day.lines[i]), at,
                         i == 0 ? 12 : 11, i == 0 ? kInk : kMuted, "center");
            at.y -= 19;
        }
    }
    for (std::size_t i = 0; i < panel.curves.size(); ++i) {
        write_name(script, panel.names[i], panel.curves[i].style.colour);
    }
}

std::vector<std::string> plot_elements(const RoadPanel& panel, std::size_t index) {
    std::vector<std::string> elements = {
        fmt::format("1 w l lw 1.2 dt (4,3) lc rgb '{}' notitle", kInk)};
    for (std::size_t i = 0; i < panel.curves.size(); ++i) {
        const CurveStyle& style = panel.curves[i].style;
        elements.push_back(fmt::format(
            "{} u 1:3 w p pt {} ps {}*point_scale lw 1.4 lc rgb '{}' notitle", block_name(index, i),
            style.marker - 1, 1.5 * style.marker_size, style.colour));
    }
    for (std::size_t i = 0; i < panel.curves.size(); ++i) {
        const CurveStyle& style = panel.curves[i].style;
        elements.push_back(fmt::format(
            "{} u 1:2 w lp lw {} pt {} ps {}*point_scale lc rgb '{}' notitle", block_name(index, i),
            style.line_width, style.marker, style.marker_size, style.colour));
    }
    return elements;
}

}  // namespace

std::string road_script(const RoadPicture& picture) {
    GnuplotScript script(kPictureWidth, kPictureHeight);
    script.line("set encoding utf8");
    for (std::size_t i = 0; i < picture.panels.size(); ++i) {
        write_data(script, picture.panels[i], i);
    }
    script.line("set multiplot");
    write_heading(script, picture.heading);
    for (std::size_t i = 0; i < picture.panels.size(); ++i) {
        write_ratio_axes(script, picture.panels[i]);
        write_texts(script, picture.panels[i], i == 0);
        write_plot(script, plot_elements(picture.panels[i], i));
        script.line("unset label\nunset arrow");  // the next panel has its own
    }
    script.line("unset multiplot");
    return std::move(script).text();
}

}  // namespace nanoserve::report
