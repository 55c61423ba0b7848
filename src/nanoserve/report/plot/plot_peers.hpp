// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// The plot of our read among its peers.
#pragma once

#include <nanoserve/report/peer_comparison.hpp>
#include <nanoserve/report/plot/gnuplot_run.hpp>

#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace nanoserve::report {

/// Draws `<out_stem>.png` and `<out_stem>.svg`: a panel for each head_dim with every peer's time
/// over its ceiling, and ours. Throws as `peers_picture` does, and `PlotError` when gnuplot is
/// missing or fails.
void plot_peers(std::span<const PeerCell> cells, const std::filesystem::path& out_stem,
                const std::vector<std::string>& sources);

}  // namespace nanoserve::report
