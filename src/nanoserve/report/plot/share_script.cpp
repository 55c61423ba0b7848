// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <nanoserve/report/number_text.hpp>
#include <nanoserve/report/plot/chart_script.hpp>
#include <nanoserve/report/plot/share_script.hpp>

#include <fmt/core.h>

#include <utility>

namespace nanoserve::report {
namespace {

std::string block_name(std::size_t curve) {
    return fmt::format("$CURVE{}", curve);
}

void write_data(GnuplotScript& script, const SharePicture& picture) {
    for (std::size_t i = 0; i < picture.curves.size(); ++i) {
        script.line(block_name(i) + " << EOD");
        script.line("# history percent");
        for (const SharePoint& point : picture.curves[i].points) {
            script.line(fmt::format("{} {}", point.seq_len, exact_text(point.percent)));
        }
        script.line("EOD");
    }
}

}  // namespace

std::string share_script(const SharePicture& picture) {
    GnuplotScript script(kPictureWidth, kPictureHeight);
    script.line("set encoding utf8");
    write_data(script, picture);
    write_heading(script, picture.heading);
    write_axes(script, picture, "share of its own limit (%)");
    std::vector<std::string> elements;
    for (std::size_t i = 0; i < picture.curves.size(); ++i) {
        write_name(script, picture.names[i], picture.curves[i].style.colour);
        elements.push_back(curve_of(block_name(i), picture.curves[i].style, "notitle"));
    }
    write_plot(script, elements);
    return std::move(script).text();
}

}  // namespace nanoserve::report
