// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <nanoserve/report/plot/gnuplot_text.hpp>
#include <nanoserve/report/plot/panel_script.hpp>
#include <nanoserve/report/plot/picture_style.hpp>

#include <fmt/core.h>

namespace nanoserve::report {
namespace {

constexpr double kRowLeading = 23;
constexpr double kLineLeading = 20;

void write_table(GnuplotScript& script, const Panel& panel, const PixelBox& box, double top) {
    constexpr double kColumnWidth = 102;
    for (std::size_t column = 0; column < panel.columns.size(); ++column) {
        const auto from_right = static_cast<double>(panel.columns.size() - 1 - column);
        const double x = box.right - 18 - kColumnWidth * from_right;
        script.label(gnuplot_bold(panel.columns[column]), {x, top}, 12, style_of(column).colour,
                     "right");
        for (std::size_t row = 0; row < panel.rows.size(); ++row) {
            const double y = top - kRowLeading * static_cast<double>(row + 1);
            script.label(gnuplot_label(panel.rows[row].cells[column]), {x, y}, 12, kInk, "right");
        }
    }
    for (std::size_t row = 0; row < panel.rows.size(); ++row) {
        const double y = top - kRowLeading * static_cast<double>(row + 1);
        script.label(gnuplot_label(panel.rows[row].label), {box.left + 26, y}, 12, kMuted);
    }
}

}  // namespace

void write_panel(GnuplotScript& script, const Panel& panel, const PixelBox& box,
                 std::string_view colour) {
    script.rectangle(box, kPanelColour, fmt::format("border lc rgb '{}'", kPanelEdge));
    script.rectangle({box.left, box.left + 5, box.bottom, box.top}, colour, "noborder");
    double y = box.top - 32;
    script.label(gnuplot_bold(panel.heading), {box.left + 26, y}, 16, kInk);
    if (!panel.headline.empty()) {
        y -= 34;
        script.label(gnuplot_label(panel.headline), {box.left + 26, y}, 15, colour);
    }
    y -= 34;
    write_table(script, panel, box, y);
    y -= kRowLeading * static_cast<double>(panel.rows.size()) + 10;
    for (const std::string& line : panel.lines) {
        y -= kLineLeading;
        script.label(gnuplot_label(line), {box.left + 26, y}, 12, kInk);
    }
}

}  // namespace nanoserve::report
