// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <nanoserve/report/plot/peers_picture.hpp>
#include <nanoserve/report/plot/peers_script.hpp>
#include <nanoserve/report/plot/picture_files.hpp>
#include <nanoserve/report/plot/plot_peers.hpp>

namespace nanoserve::report {

void plot_peers(std::span<const PeerCell> cells, const std::filesystem::path& out_stem,
                const std::vector<std::string>& sources) {
    draw_png_and_svg(peers_script(peers_picture(cells, sources)), out_stem);
}

}  // namespace nanoserve::report
