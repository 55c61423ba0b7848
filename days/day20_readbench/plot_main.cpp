// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// Draws the pictures of Day 20 again from data/; times nothing.
#include "options.hpp"
#include "sweep_files.hpp"

#include <nanoserve/report/plot/gnuplot_run.hpp>

#include <fmt/core.h>

#include <exception>

using namespace nanoserve;
using namespace nanoserve::day20;

int main(int argc, char** argv) {
    const auto parsed = parse_options(argc, argv);
    if (const auto* refusal = std::get_if<Refusal>(&parsed)) {
        return report_refusal(*refusal);
    }
    const auto& options = std::get<Options>(parsed);
    try {
        draw_plots(options);
        fmt::print("drew {}.png and .svg from {}\n", options.plot_stem().string(),
                   options.csv().string());
        return kFine;
    } catch (const report::PlotError& error) {
        fmt::print(stderr, "day20_plot: {}\n", error.what());
        return kPlotFailed;
    } catch (const std::exception& error) {
        fmt::print(stderr, "day20_plot: {}\n", error.what());
        return kFilesFailed;
    }
}
