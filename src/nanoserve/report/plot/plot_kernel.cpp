// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <nanoserve/report/plot/kernel_picture.hpp>
#include <nanoserve/report/plot/kernel_script.hpp>
#include <nanoserve/report/plot/picture_files.hpp>
#include <nanoserve/report/plot/plot_kernel.hpp>

namespace nanoserve::report {

void plot_kernel(const KernelRows& rows, const std::filesystem::path& out_stem,
                 const std::vector<std::string>& sources) {
    draw_png_and_svg(kernel_script(kernel_picture(rows, sources)), out_stem);
}

}  // namespace nanoserve::report
