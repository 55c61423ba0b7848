// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <nanoserve/report/number_text.hpp>
#include <nanoserve/report/plot/chart_script.hpp>
#include <nanoserve/report/plot/gnuplot_script.hpp>
#include <nanoserve/report/plot/gnuplot_text.hpp>
#include <nanoserve/report/plot/paged_read_script.hpp>
#include <nanoserve/report/plot/panel_script.hpp>
#include <nanoserve/report/plot/picture_style.hpp>

#include <fmt/core.h>

#include <string>
#include <utility>
#include <vector>

namespace nanoserve::report {
namespace {

void write_data(GnuplotScript& script, const PagedReadPicture& picture) {
    for (std::size_t i = 0; i < picture.facts.reads.size(); ++i) {
        write_points(script, fmt::format("$READ{}", i), picture.facts.reads[i].points,
                     picture.chart.us_per_unit);
    }
    if (!picture.facts.floor.empty()) {
        write_points(script, "$FLOOR", picture.facts.floor, picture.chart.us_per_unit);
    }
}

void write_key(GnuplotScript& script) {
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

std::string guide_of(const Guide& guide) {
    return fmt::format("sample [{}:{}] '+' u 1:({}*$1) w l dt (8,6) lw 1.0 lc rgb '{}' notitle",
                       exact_text(guide.from), exact_text(guide.to), exact_text(guide.per_token),
                       kGuideColour);
}

// Bars lie below the curves, the curves in their order above one another.
std::vector<std::string> plot_elements(const PagedReadPicture& picture) {
    std::vector<std::string> elements;
    if (picture.chart.guide) {
        elements.push_back(guide_of(*picture.chart.guide));
    }
    if (!picture.facts.floor.empty()) {
        elements.push_back(curve_of("$FLOOR", kFloorStyle, "notitle"));
    }
    for (std::size_t i = 0; i < picture.facts.reads.size(); ++i) {
        elements.push_back(bars_of(fmt::format("$READ{}", i), style_of(i).colour));
    }
    for (std::size_t i = 0; i < picture.facts.reads.size(); ++i) {
        elements.push_back(curve_of(fmt::format("$READ{}", i), style_of(i),
                                    "t " + gnuplot_label(picture.facts.reads[i].read)));
    }
    return elements;
}

}  // namespace

std::string paged_read_script(const PagedReadPicture& picture) {
    GnuplotScript script(kPictureWidth, kPictureHeight);
    script.line("set encoding utf8");
    write_data(script, picture);
    write_heading(script, picture.heading);
    write_panel(script, picture.cost, {1142, 1652, 470, kChartBox.top}, style_of(0).colour);
    write_panel(script, picture.job, {1142, 1652, kChartBox.bottom, 446}, style_of(1).colour);
    write_axes(script, picture.chart, fmt::format("time of one read ({})", picture.chart.unit));
    write_key(script);
    write_chart_texts(script, picture.chart);
    write_plot(script, plot_elements(picture));
    return std::move(script).text();
}

}  // namespace nanoserve::report
