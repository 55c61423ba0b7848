// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// Draws the pictures of Day 20 again from data/; times nothing. With --markdown alone it prints the
// table of the README instead.
#include "options.hpp"
#include "sweep_files.hpp"

#include <nanoserve/report/csv.hpp>
#include <nanoserve/report/file_error.hpp>
#include <nanoserve/report/plot/gnuplot_run.hpp>
#include <nanoserve/report/table.hpp>

#include <fmt/core.h>

#include <exception>
#include <string_view>

using namespace nanoserve;
using namespace nanoserve::day20;

int main(int argc, char** argv) {
    const bool markdown = argc == 2 && std::string_view(argv[1]) == "--markdown";
    argc = markdown ? 1 : argc;
    const auto parsed = parse_options(argc, argv);
    if (const auto* refusal = std::get_if<Refusal>(&parsed)) {
        return report_refusal(*refusal);
    }
    const auto& options = std::get<Options>(parsed);
    try {
        if (markdown) {
            fmt::print("{}", report::markdown_table(report::read_csv(options.csv())));
            return kFine;
        }
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
