// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <nanoserve/report/plot/chart_script.hpp>
#include <nanoserve/report/plot/gnuplot_text.hpp>
#include <nanoserve/report/plot/kernel_script.hpp>

#include <fmt/core.h>

#include <utility>

namespace nanoserve::report {
namespace {

std::string block_name(std::size_t chart, std::size_t curve) {
    return fmt::format("$CHART{}_CURVE{}", chart, curve);
}

void write_data(GnuplotScript& script, const KernelPicture& picture) {
    for (std::size_t i = 0; i < picture.charts.size(); ++i) {
        const std::vector<NamedCurve>& curves = picture.charts[i].curves;
        for (std::size_t j = 0; j < curves.size(); ++j) {
            write_points(script, block_name(i, j), curves[j].points, 1);
        }
    }
}

void write_gap(GnuplotScript& script, const KernelChart& chart) {
    const CeilingGap& gap = *chart.gap;
    const char* colour = chart.curves.back().style.colour;
    script.line(gap.from, gap.to,
                fmt::format("heads size screen 0.006,25 filled lw 1.2 lc rgb '{}'", colour));
    script.label(gnuplot_bold(gap.text), gap.text_at, 16, colour);
}

void write_texts(GnuplotScript& script, const KernelChart& chart) {
    script.label(gnuplot_bold(chart.heading), {chart.box.left - 77, chart.box.top + 58}, 16, kInk);
    script.label(gnuplot_label(chart.remark), {chart.box.left - 77, chart.box.top + 30}, 13,
                 kMuted);
    for (std::size_t i = 0; i < chart.names.size(); ++i) {
        const NamedCurve& curve = chart.curves[i];
        write_name(script, chart.names[i], curve.style.colour, i + 1 == chart.names.size());
    }
    for (const ValueText& value : chart.values) {
        script.label(gnuplot_label(value.text), value.centre, 13, chart.curves.back().style.colour,
                     "center");
    }
    if (chart.gap) {
        write_gap(script, chart);
    }
}

// Bars lie below the curves.
std::vector<std::string> plot_elements(const KernelChart& chart, std::size_t index) {
    std::vector<std::string> elements;
    for (std::size_t i = 0; i < chart.curves.size(); ++i) {
        elements.push_back(bars_of(block_name(index, i), chart.curves[i].style.colour));
    }
    for (std::size_t i = 0; i < chart.curves.size(); ++i) {
        elements.push_back(curve_of(block_name(index, i), chart.curves[i].style, "notitle"));
    }
    return elements;
}

}  // namespace

std::string kernel_script(const KernelPicture& picture) {
    GnuplotScript script(kPictureWidth, kPictureHeight);
    script.line("set encoding utf8");
    write_data(script, picture);
    script.line("set multiplot");
    write_heading(script, picture.heading);
    for (std::size_t i = 0; i < picture.charts.size(); ++i) {
        const KernelChart& chart = picture.charts[i];
        // The axis is the same for all: its title stands once.
        write_axes(script, chart, i == 0 ? "time of one read (µs)" : "");
        write_texts(script, chart);
        write_plot(script, plot_elements(chart, i));
        script.line("unset label\nunset arrow");  // the next chart has its own
    }
    script.line("unset multiplot");
    return std::move(script).text();
}

}  // namespace nanoserve::report
