// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <nanoserve/report/plot/paged_read_picture.hpp>
#include <nanoserve/report/plot/paged_read_script.hpp>
#include <nanoserve/report/plot/picture_files.hpp>
#include <nanoserve/report/plot/plot_paged_read.hpp>

namespace nanoserve::report {

void plot_paged_read(std::span<const ReadRow> rows, const std::filesystem::path& out_stem,
                     std::string_view caption) {
    draw_png_and_svg(paged_read_script(paged_read_picture(rows, caption)), out_stem);
}

}  // namespace nanoserve::report
