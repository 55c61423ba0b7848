// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// Draws the pictures of Day 20 again from data/; times nothing.
#include "options.hpp"
#include "sweep_files.hpp"

#include <nanoserve/report/plot/gnuplot_run.hpp>
#include <nanoserve/report/program_end.hpp>

#include <fmt/core.h>

#include <exception>

using namespace nanoserve;
using namespace nanoserve::day20;

namespace {

constexpr const char* kProgram = "day20_plot";

int draw(int argc, char** argv) {
    const auto parsed = parse_plot_options(argc, argv);
    if (const auto* refusal = std::get_if<Refusal>(&parsed)) {
        return report::end_at_once(kProgram, refusal->status, refusal->text);
    }
    const auto& options = std::get<Options>(parsed);
    draw_plots(options);
    fmt::print("drew {}.png and .svg from {}\n", options.plot_stem().string(),
               options.csv().string());
    return kFine;
}

}  // namespace

int main(int argc, char** argv) {
    try {
        return report::end_program(kProgram, draw(argc, argv));
    } catch (const report::PlotError& error) {
        return report::fail_program(kProgram, kPlotFailed, error);
    } catch (const std::exception& error) {
        return report::fail_program(kProgram, kFilesFailed, error);
    }
}
