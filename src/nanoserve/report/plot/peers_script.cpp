// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <nanoserve/report/number_text.hpp>
#include <nanoserve/report/plot/chart_script.hpp>
#include <nanoserve/report/plot/gnuplot_text.hpp>
#include <nanoserve/report/plot/peers_script.hpp>

#include <fmt/core.h>

#include <utility>

namespace nanoserve::report {
namespace {

constexpr const char* kLostColour = "#c92a2a";

std::string block_name(std::size_t panel, const char* kind, std::size_t index = 0) {
    return fmt::format("$PANEL{}_{}{}", panel, kind, index);
}

void write_block(GnuplotScript& script, const std::string& name,
                 const std::vector<ColumnPoint>& points) {
    script.line(name + " << EOD");
    script.line("# column times");
    for (const ColumnPoint& point : points) {
        script.line(fmt::format("{} {}", exact_text(point.column), exact_text(point.times)));
    }
    script.line("EOD");
}

void write_data(GnuplotScript& script, const PeersPanel& panel, std::size_t index) {
    for (std::size_t i = 0; i < panel.readers.size(); ++i) {
        std::vector<ColumnPoint> above;
        for (const double column : panel.readers[i].above) {
            above.push_back({column, 0.97 * panel.ratio.max});
        }
        write_block(script, block_name(index, "READER", i), panel.readers[i].points);
        write_block(script, block_name(index, "ABOVE", i), above);
    }
    for (const bool is_lost : {false, true}) {
        script.line(block_name(index, "GAP", is_lost) + " << EOD");
        script.line("# column ours best");
        for (const PeerGap& gap : panel.gaps) {
            if (gap.is_lost == is_lost) {
                script.line(fmt::format("{} {} {}", exact_text(gap.column), exact_text(gap.ours),
                                        exact_text(gap.best)));
            }
        }
        script.line("EOD");
    }
}

void write_legend(GnuplotScript& script, const std::vector<PeerMarks>& readers) {
    double x = 57;
    for (std::size_t i = 0; i < readers.size(); ++i) {
        const bool is_ours = i == 0;  // the last of the readers
        const PeerMarks& reader = is_ours ? readers.back() : readers[i - 1];
        script.line(fmt::format(
            "set label {} at screen {:.5f},{:.5f} left front point pt {} ps {}*point_scale lw 1.4 "
            "lc rgb '{}' offset char 1.2,0 tc rgb '{}' font 'DejaVu Sans,13'",
            is_ours ? gnuplot_bold(reader.name) : gnuplot_label(reader.name),
            (x + 6) / kPictureWidth, 818 / kPictureHeight, reader.style.marker,
            reader.style.marker_size, reader.style.colour, reader.style.colour));
        x += 60 + 11.0 * static_cast<double>(reader.name.size());
    }
}

void write_texts(GnuplotScript& script, const PeersPanel& panel) {
    const double left = panel.box.left - 77;
    script.label(gnuplot_bold(panel.heading), {left, panel.box.top + 42}, 15, kInk);
    script.label(gnuplot_label(panel.remark), {left + 168, panel.box.top + 42}, 13, kMuted);
    script.label(gnuplot_label("speed-up"), {panel.box.left - 12, panel.box.top + 14}, 11, kMuted,
                 "right");
    script.label(gnuplot_label("times load-only"), {panel.box.left - 62, panel.box.centre().y}, 13,
                 kInk, "center", 90);
    for (const PeerGap& gap : panel.gaps) {
        const PixelPoint at = ratio_pixel(panel, gap.column, panel.ratio.max);
        script.label(gnuplot_label(gap.speedup), {at.x, at.y + 14}, 11,
                     gap.is_lost ? kLostColour : "#0b6fb8", "center");
    }
    for (const ColumnText& cell : panel.cells) {
        const PixelPoint at = ratio_pixel(panel, cell.column, panel.ratio.min);
        script.label(gnuplot_label(cell.text), {at.x, at.y - 16}, 11, kInk, "center");
    }
    for (const ColumnText& batch : panel.batches) {
        const PixelPoint at = ratio_pixel(panel, batch.column, panel.ratio.min);
        script.label(gnuplot_label(batch.text), {at.x, at.y - 38}, 12, kMuted, "center");
    }
    for (const double edge : panel.edges) {
        const PixelPoint at = ratio_pixel(panel, edge, panel.ratio.min);
        script.line({at.x, at.y - 44}, {at.x, panel.box.top},
                    fmt::format("nohead lw 0.8 lc rgb '{}'", kPanelEdge));
    }
}

std::vector<std::string> plot_elements(const PeersPanel& panel, std::size_t index) {
    std::vector<std::string> elements = {
        fmt::format("1 w l lw 1.2 dt (4,3) lc rgb '{}' notitle", kInk),
        fmt::format("{} u 1:2:(0):($3-$2) w vectors nohead lw 5 lc rgb '#c00b6fb8' notitle",
                    block_name(index, "GAP", 0)),
        fmt::format("{} u 1:2:(0):($3-$2) w vectors nohead lw 5 lc rgb '#80{}' notitle",
                    block_name(index, "GAP", 1), kLostColour + 1)};
    for (std::size_t i = 0; i < panel.readers.size(); ++i) {
        const CurveStyle& style = panel.readers[i].style;
        if (!panel.readers[i].points.empty()) {
            elements.push_back(fmt::format(
                "{} u 1:2 w p pt {} ps {}*point_scale lw 1.4 lc rgb '{}' notitle",
                block_name(index, "READER", i), style.marker, style.marker_size, style.colour));
        }
        if (!panel.readers[i].above.empty()) {  // side by side: several may be above
            elements.push_back(fmt::format(
                "{} u ($1+{:.3f}):2 w p pt {} ps {}*point_scale lw 1.2 lc rgb '{}' notitle",
                block_name(index, "ABOVE", i), 0.16 * static_cast<double>(i) - 0.32, style.marker,
                0.6 * style.marker_size, style.colour));
        }
    }
    return elements;
}

}  // namespace

std::string peers_script(const PeersPicture& picture) {
    GnuplotScript script(kPictureWidth, kPictureHeight);
    script.line("set encoding utf8");
    for (std::size_t i = 0; i < picture.panels.size(); ++i) {
        write_data(script, picture.panels[i], i);
    }
    script.line("set multiplot");
    write_heading(script, picture.heading);
    write_legend(script, picture.panels.front().readers);
    for (std::size_t i = 0; i < picture.panels.size(); ++i) {
        write_ratio_axes(script, picture.panels[i]);
        write_texts(script, picture.panels[i]);
        write_plot(script, plot_elements(picture.panels[i], i));
        script.line("unset label\nunset arrow");  // the next panel has its own
    }
    script.line("unset multiplot");
    return std::move(script).text();
}

}  // namespace nanoserve::report
