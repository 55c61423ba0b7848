// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <nanoserve/report/plot/picture_files.hpp>
#include <nanoserve/report/plot/plot_share.hpp>
#include <nanoserve/report/plot/share_script.hpp>

namespace nanoserve::report {

void plot_share(std::span<const ReadRow> gpu, std::span<const ReadRow> own,
                const std::filesystem::path& out_stem, const std::vector<std::string>& sources) {
    draw_png_and_svg(share_script(share_picture(gpu, own, sources)), out_stem);
}

}  // namespace nanoserve::report
