// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <nanoserve/report/number_text.hpp>
#include <nanoserve/report/plot/gnuplot_script.hpp>
#include <nanoserve/report/plot/gnuplot_text.hpp>
#include <nanoserve/report/plot/paged_read_script.hpp>
#include <nanoserve/report/plot/panel_script.hpp>
#include <nanoserve/report/plot/picture_style.hpp>
#include <nanoserve/report/plot/wrapped_text.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <string>
#include <string_view>

namespace nanoserve::report {
namespace {

// --- data: named blocks, so that the script can be studied and drawn again by hand

void write_block(GnuplotScript& script, const std::string& name,
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

void write_data(GnuplotScript& script, const PagedReadPicture& picture) {
    for (std::size_t i = 0; i < picture.facts.reads.size(); ++i) {
        write_block(script, fmt::format("$READ{}", i), picture.facts.reads[i].points,
                    picture.chart.us_per_unit);
    }
    if (!picture.facts.floor.empty()) {
        write_block(script, "$FLOOR", picture.facts.floor, picture.chart.us_per_unit);
    }
}

// --- heading and foot

// The largest size up to `size` at which the text fits the picture; a bold character is about 0.6
// em wide, an em 4/3 points.
int fitting_size(std::string_view text, int size) {
    const double width = 0.78 * static_cast<double>(std::max<std::size_t>(num_characters(text), 1));
    return std::clamp(static_cast<int>((kPictureWidth - 100) / width), 9, size);
}

void write_heading(GnuplotScript& script, const PagedReadPicture& picture) {
    script.label(gnuplot_bold(picture.title), {57, 908}, fitting_size(picture.title, 22), kInk);
    script.label(gnuplot_label(picture.subtitle), {57, 858}, fitting_size(picture.subtitle, 14),
                 kMuted);
    script.label(gnuplot_label(picture.caption), {57, 26}, fitting_size(picture.caption, 11),
                 kMuted);
}

// --- chart

void write_ticks(GnuplotScript& script, char axis, const std::vector<Tick>& ticks) {
    script.line(fmt::format("set {}tics ()", axis));
    for (const Tick& tick : ticks) {
        script.line(fmt::format("set {}tics add ({} {} {})", axis, gnuplot_literal(tick.text),
                                exact_text(tick.value), tick.text.empty() ? 1 : 0));
    }
}

void write_axes(GnuplotScript& script, const PagedReadChart& chart) {
    script.line(fmt::format("set lmargin at screen {:.5f}", kChartBox.left / kPictureWidth));
    script.line(fmt::format("set rmargin at screen {:.5f}", kChartBox.right / kPictureWidth));
    script.line(fmt::format("set bmargin at screen {:.5f}", kChartBox.bottom / kPictureHeight));
    script.line(fmt::format("set tmargin at screen {:.5f}", kChartBox.top / kPictureHeight));
    script.line("set logscale xy");
    script.line(fmt::format("set xrange [{}:{}]", exact_text(chart.history.min),
                            exact_text(chart.history.max)));
    script.line(
        fmt::format("set yrange [{}:{}]", exact_text(chart.cost.min), exact_text(chart.cost.max)));
    script.line(fmt::format("set border 3 lc rgb '{}' lw 0.8", kMuted));
    script.line(
        fmt::format("set tics nomirror out scale 0.6,0.3 tc rgb '{}' font 'DejaVu Sans,13'", kInk));
    write_ticks(script, 'x', chart.history_ticks);
    write_ticks(script, 'y', chart.cost_ticks);
    script.line(fmt::format("set grid xtics ytics lt 1 lc rgb '{}' lw 0.8", kGridColour));
    script.line(fmt::format(
        "set xlabel 'cached history (tokens)' tc rgb '{}' font 'DejaVu Sans,14'", kInk));
    // As a label of our own it stays clear of tick labels of any length.
    script.label(gnuplot_label(fmt::format("time of one read ({})", chart.unit)),
                 {24, kChartBox.centre().y}, 14, kInk, "center", 90);
    // Above the chart the key can hide no data.
    script.line(fmt::format(
        "set key at screen {:.5f},{:.5f} left bottom horizontal Left reverse samplen 2.4 width 2 "
        "font 'DejaVu Sans,14' tc rgb '{}'",
        kChartBox.left / kPictureWidth, (kChartBox.top + 14) / kPictureHeight, kInk));
}

void write_chart_texts(GnuplotScript& script, const PagedReadChart& chart) {
    for (const PlacedText& text : chart.labels) {
        script.label(gnuplot_label(text.text), text.centre, 12,
                     text.curve ? style_of(*text.curve).colour : kFloorColour, "center");
    }
    if (chart.guide) {
        script.label("'slope 1: time ∝ history'", chart.guide->text_centre, 12, kMuted, "center",
                     chart.guide->angle);
    }
}

// Bars lie below the curves, the curves in their order above one another.
void write_plot(GnuplotScript& script, const PagedReadPicture& picture) {
    std::string separator = "plot ";
    const auto element = [&]<typename... Values>(fmt::format_string<Values...> format,
                                                 Values&&... values) {
        script.line(fmt::format("{}{} \\", separator,
                                fmt::format(format, std::forward<Values>(values)...)));
        separator = "     , ";
    };
    if (picture.chart.guide) {
        const Guide& guide = *picture.chart.guide;
        element("sample [{}:{}] '+' u 1:({}*$1) w l dt (8,6) lw 1.0 lc rgb '{}' notitle",
                exact_text(guide.from), exact_text(guide.to), exact_text(guide.per_token),
                kGuideColour);
    }
    if (!picture.facts.floor.empty()) {
        element("$FLOOR u 1:2 w lp dt (4,3) lw 1.5 pt 7 ps 0.5*point_scale lc rgb '{}' notitle",
                kFloorColour);
    }
    for (std::size_t i = 0; i < picture.facts.reads.size(); ++i) {
        element("$READ{} u 1:3:(0):($4-$3) w vectors nohead lw 5 lc rgb '#80{}' notitle", i,
                style_of(i).colour + 1);
    }
    for (std::size_t i = 0; i < picture.facts.reads.size(); ++i) {
        const CurveStyle& style = style_of(i);
        element("$READ{} u 1:2 w lp lw {} dt {} pt {} ps {}*point_scale lc rgb '{}' t {}", i,
                style.line_width, style.dash, style.marker, style.marker_size, style.colour,
                gnuplot_label(picture.facts.reads[i].read));
    }
    script.line("");
}

}  // namespace

std::string paged_read_script(const PagedReadPicture& picture) {
    GnuplotScript script(kPictureWidth, kPictureHeight);
    script.line("set encoding utf8");
    write_data(script, picture);
    write_heading(script, picture);
    write_panel(script, picture.cost, {1142, 1652, 470, kChartBox.top}, style_of(0).colour);
    write_panel(script, picture.job, {1142, 1652, kChartBox.bottom, 446}, style_of(1).colour);
    write_axes(script, picture.chart);
    write_chart_texts(script, picture.chart);
    write_plot(script, picture);
    return std::move(script).text();
}

}  // namespace nanoserve::report
