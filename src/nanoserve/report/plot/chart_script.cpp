// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <nanoserve/report/number_text.hpp>
#include <nanoserve/report/plot/chart_script.hpp>
#include <nanoserve/report/plot/gnuplot_text.hpp>
#include <nanoserve/report/plot/picture_style.hpp>
#include <nanoserve/report/plot/wrapped_text.hpp>

#include <fmt/core.h>

#include <algorithm>

namespace nanoserve::report {
namespace {

// The largest size up to `size` at which the text fits the picture; a bold character is about 0.6
// em wide, an em 4/3 points.
int fitting_size(std::string_view text, int size) {
    const double width = 0.78 * static_cast<double>(std::max<std::size_t>(num_characters(text), 1));
    return std::clamp(static_cast<int>((kPictureWidth - 100) / width), 9, size);
}

void write_ticks(GnuplotScript& script, char axis, std::span<const Tick> ticks) {
    script.line(fmt::format("set {}tics ()", axis));
    for (const Tick& tick : ticks) {
        script.line(fmt::format("set {}tics add ({} {} {})", axis, gnuplot_literal(tick.text),
                                exact_text(tick.value), tick.text.empty() ? 1 : 0));
    }
}

void write_range(GnuplotScript& script, char axis, const LogAxis& range) {
    script.line(
        fmt::format("set {}range [{}:{}]", axis, exact_text(range.min), exact_text(range.max)));
}

void write_margins(GnuplotScript& script, const PixelBox& box) {
    script.line(fmt::format("set lmargin at screen {:.5f}", box.left / kPictureWidth));
    script.line(fmt::format("set rmargin at screen {:.5f}", box.right / kPictureWidth));
    script.line(fmt::format("set bmargin at screen {:.5f}", box.bottom / kPictureHeight));
    script.line(fmt::format("set tmargin at screen {:.5f}", box.top / kPictureHeight));
}

}  // namespace

void write_heading(GnuplotScript& script, const Heading& heading) {
    script.label(gnuplot_bold(heading.title), {57, 908}, fitting_size(heading.title, 22), kInk);
    script.label(gnuplot_label(heading.subtitle), {57, 858}, fitting_size(heading.subtitle, 14),
                 kMuted);
    double y = 26 + 20 * static_cast<double>(heading.foot.size());
    for (const std::string& line : heading.foot) {
        y -= 20;
        script.label(gnuplot_label(line), {57, y}, fitting_size(line, 11), kMuted);
    }
}

void write_points(GnuplotScript& script, std::string_view name,
                  std::span<const CostAtHistory> points, double us_per_unit) {
    script.line(fmt::format("{} << EOD", name));
    script.line("# history best lo hi");
    for (const CostAtHistory& point : points) {
        script.line(fmt::format("{} {} {} {}", point.seq_len,
                                exact_text(point.best_us / us_per_unit),
                                point.lo_us ? exact_text(*point.lo_us / us_per_unit) : "NaN",
                                point.hi_us ? exact_text(*point.hi_us / us_per_unit) : "NaN"));
    }
    script.line("EOD");
}

std::string bars_of(std::string_view block, std::string_view colour) {
    // "#80rrggbb" is the colour at half its strength.
    return fmt::format("{} u 1:3:(0):($4-$3) w vectors nohead lw 5 lc rgb '#80{}' notitle", block,
                       colour.substr(1));
}

std::string curve_of(std::string_view block, const CurveStyle& style, std::string_view title) {
    return fmt::format("{} u 1:2 w lp lw {} dt {} pt {} ps {}*point_scale lc rgb '{}' {}", block,
                       style.line_width, style.dash, style.marker, style.marker_size, style.colour,
                       title);
}

void write_plot(GnuplotScript& script, std::span<const std::string> elements) {
    std::string_view separator = "plot ";
    for (const std::string& element : elements) {
        script.line(fmt::format("{}{} \\", separator, element));
        separator = "     , ";
    }
    script.line("");
}

void write_axes(GnuplotScript& script, const ChartFrame& frame, std::string_view cost_title) {
    write_margins(script, frame.box);
    script.line("set logscale xy");
    write_range(script, 'x', frame.history);
    write_range(script, 'y', frame.cost);
    script.line(fmt::format("set border 3 lc rgb '{}' lw 0.8", kMuted));
    script.line(
        fmt::format("set tics nomirror out scale 0.6,0.3 tc rgb '{}' font 'DejaVu Sans,13'", kInk));
    write_ticks(script, 'x', frame.history_ticks);
    write_ticks(script, 'y', frame.cost_ticks);
    script.line(fmt::format("set grid xtics ytics lt 1 lc rgb '{}' lw 0.8", kGridColour));
    script.line(fmt::format(
        "set xlabel 'cached history (tokens)' tc rgb '{}' font 'DejaVu Sans,14'", kInk));
    // As a label of our own it stays clear of tick labels of any length.
    script.label(gnuplot_label(cost_title), {frame.box.left - 110, frame.box.centre().y}, 14, kInk,
                 "center", 90);
}

void write_ratio_axes(GnuplotScript& script, const RatioFrame& frame) {
    write_margins(script, frame.box);
    script.line("unset logscale\nset logscale y");
    script.line(fmt::format("set xrange [0:{}]", exact_text(frame.width)));
    write_range(script, 'y', frame.ratio);
    script.line(fmt::format("set border 3 lc rgb '{}' lw 0.8", kMuted));
    script.line(
        fmt::format("set tics nomirror out scale 0.6,0.3 tc rgb '{}' font 'DejaVu Sans,12'", kInk));
    script.line("unset xtics\nunset xlabel");
    write_ticks(script, 'y', frame.ratio_ticks);
    script.line(fmt::format("set grid noxtics ytics lt 1 lc rgb '{}' lw 0.8", kGridColour));
}

void write_name(GnuplotScript& script, const CurveName& name, std::string_view colour,
                bool is_bold) {
    script.label(is_bold ? gnuplot_bold(name.text) : gnuplot_label(name.text), name.at, 13, colour);
    script.line({name.end.x + 9, name.end.y}, {name.at.x - 4, name.at.y},
                fmt::format("nohead lw 0.8 lc rgb '{}'", kGuideColour));
}

}  // namespace nanoserve::report
