// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// Day 20: time the read, not the step: the number a kernel has to beat.
#include "gotchas.hpp"
#include "options.hpp"
#include "sweep.hpp"
#include "sweep_files.hpp"

#include <nanoserve/report/file_error.hpp>
#include <nanoserve/report/number_text.hpp>
#include <nanoserve/report/plot/gnuplot_run.hpp>
#include <nanoserve/report/program_end.hpp>
#include <nanoserve/report/standard_error.hpp>
#include <nanoserve/report/table.hpp>

#include <fmt/core.h>
#include <unistd.h>

#include <exception>
#include <optional>
#include <string>

using namespace nanoserve;
using namespace nanoserve::day20;

namespace {

constexpr const char* kProgram = "day20";

// A line that says what is being measured: rewritten in place on a terminal.
void show_progress(std::size_t index, std::size_t count, std::int64_t seq_len) {
    report::print_stderr(fmt::format("{}measuring {} of {}: {} tokens{}", isatty(2) ? "\r" : "",
                                     index + 1, count, seq_len,
                                     isatty(2) && index + 1 < count ? "   " : "\n"));
}

void print_fits(std::span<const SweepPoint> points, std::span<const report::ReadRow> rows,
                const report::Sidecar& sidecar) {
    for (const MeasuredRead& read : points.front().reads) {
        if (const auto fit = fit_of(rows, read.name)) {
            const auto crossover = fit->crossover_tokens();
            fmt::print(
                "{:<9}  floor {}, then {} for each token{}\n", read.name,
                report::duration_text(fit->floor_us), report::duration_text(fit->us_per_token),
                crossover ? fmt::format("; both cost the same at {:.0f} tokens", *crossover) : "");
        }
    }
    if (points.size() < 2) {
        return;
    }
    const std::int64_t before = points[points.size() - 2].seq_len;
    const std::int64_t last = points.back().seq_len;
    for (const auto& [name, value] : sidecar.fitted) {
        if (name.ends_with(".last_leg_ratio") && value) {
            fmt::print(
                "{:<9}  from {} to {} tokens, {} times the history, costs {} times as much\n",
                name.substr(0, name.find('.')), before, last,
                report::ratio_text(static_cast<double>(last) / static_cast<double>(before)),
                report::ratio_text(*value));
        }
    }
}

std::string time_text(std::optional<double> us) {
    return us ? report::duration_text(*us) : "–";
}

// readbench's mean beside Google Benchmark's, for the same closures.
void print_second_opinion(std::span<const SweepPoint> points) {
    fmt::print("\nmean of one call   readbench   Google Benchmark   ratio\n");
    for (const SweepPoint& point : points) {
        for (const MeasuredRead& read : point.reads) {
            const auto our_ns = read.timing.mean_ns();
            const auto our_us = our_ns ? std::optional(*our_ns / 1e3) : std::nullopt;
            const auto their_us = read.benchmark_us;
            fmt::print("{:>6} {:<9}  {:>9}   {:>16}   {:>5}\n", point.seq_len, read.name,
                       time_text(our_us), time_text(their_us),
                       our_us && their_us ? report::ratio_text(*our_us / *their_us) : "–");
        }
    }
}

ExitStatus run_sweep(const Options& options) {
    require_outputs(options);
    std::vector<SweepPoint> points;
    for (std::size_t i = 0; i < options.histories.size(); ++i) {
        show_progress(i, options.histories.size(), options.histories[i]);
        points.push_back(measure(options, options.histories[i]));
    }
    const auto provenance =
        report::collect_provenance(nanoserve::to_string(options.instruction_set));
    const auto rows = to_rows(options, report::machine_name(provenance), points);
    const auto sidecar = to_sidecar(options, provenance, points, rows);
    write_files(options, rows, sidecar);

    fmt::print("{}, {}/{}/{}, block_size {}, {}, {} thread{}, {} cache, {}\n\n{}\n",
               options.model.name, options.model.attention.num_q_heads,
               options.model.attention.num_kv_heads, options.model.attention.head_dim,
               options.block_size, nanoserve::to_string(options.dtype), options.num_threads,
               options.num_threads == 1 ? "" : "s", to_string(options.cache),
               nanoserve::to_string(options.instruction_set), report::format_table(rows));
    print_fits(points, rows, sidecar);
    print_second_opinion(points);
    fmt::print("\nwrote {}\n", options.csv().string());
    draw_plots(options);
    fmt::print("drew  {}.png and .svg\n", options.plot_stem().string());
    return kFine;
}

int run(int argc, char** argv) {
    const auto parsed = parse_options(argc, argv);
    if (const auto* refusal = std::get_if<Refusal>(&parsed)) {
        return report::end_at_once(kProgram, refusal->status, refusal->text);
    }
    const auto& options = std::get<Options>(parsed);
    if (options.time_the_step) {
        return time_the_step(options);
    }
    if (options.num_repeats > 1) {
        return repeat_one_read(options);
    }
    if (options.seeds.size() > 1) {
        return compare_seeds(options);
    }
    return run_sweep(options);
}

}  // namespace

int main(int argc, char** argv) {
    try {
        return report::end_program(kProgram, run(argc, argv));
    } catch (const report::FileError& error) {
        return report::fail_program(kProgram, kFilesFailed, error);
    } catch (const report::PlotError& error) {
        return report::fail_program(kProgram, kPlotFailed, error);
    } catch (const std::exception& error) {
        return report::fail_program(kProgram, kMeasurementFailed, error);
    }
}
