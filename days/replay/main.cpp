// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// Replays the record of a GPU: its table anew from the raw samples, each row beside its ceiling and
// beside this machine's own read, as a share of this machine's own read floor.
#include "own_machine.hpp"

#include <nanoserve/report/atomic_file.hpp>
#include <nanoserve/report/csv.hpp>
#include <nanoserve/report/file_error.hpp>
#include <nanoserve/report/plot/picture_files.hpp>
#include <nanoserve/report/plot/plot_share.hpp>
#include <nanoserve/report/program_end.hpp>
#include <nanoserve/report/record.hpp>
#include <nanoserve/report/replay.hpp>
#include <nanoserve/report/sidecar.hpp>

#include <command_line/parse.hpp>
#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <set>
#include <string>
#include <utility>
#include <vector>

using namespace nanoserve;
using report::ReadRow;

namespace {

constexpr const char* kProgram = "replay";

enum ExitStatus : int {
    kFine = 0,
    kFailed = 1,  ///< the record is not what its samples say, or this machine's run failed
    kWrongUsage = 2,
    kFilesFailed = 3,
    kPlotFailed = 4,
};

struct Options {
    std::filesystem::path record;
    std::filesystem::path cpu;     ///< empty: measure
    std::int64_t longest = 16384;  ///< tokens; longer histories take minutes on a CPU
    std::filesystem::path plots;   ///< empty: no picture
    replay::OwnRun run;
};

void add_flags(CLI::App& app, Options& options) {
    app.add_option("record", options.record, "CSV of a GPU, with its sidecar beside it")
        ->required();
    app.add_option("--cpu", options.cpu,
                   "CSV of a CPU run of Day 20 to set beside it (default: a short run now)");
    app.add_option("--longest", options.longest, "longest history that the short run reads, tokens")
        ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 20))
        ->capture_default_str();
    app.add_option("--samples", options.run.num_samples, "samples of each read in the short run")
        ->check(CLI::Range(6, 100000))
        ->capture_default_str();
    app.add_option("--plots", options.plots,
                   "folder that gets a picture of the shares (default: none is drawn)");
    app.footer(
        "Exit status: 0 fine; 1 the record is not what its samples say, or the short run "
        "failed; 2 wrong usage; 3 a file could not be read or written, or standard output not "
        "written; 4 the "
        "picture could not be drawn.");
}

std::vector<std::int64_t> histories_of(const std::vector<ReadRow>& rows, std::int64_t longest) {
    std::set<std::int64_t> histories;
    for (const ReadRow& row : rows) {
        if (row.seq_len <= longest) {
            histories.insert(row.seq_len);
        }
    }
    return {histories.begin(), histories.end()};
}

replay::OwnRows own_rows(Options options, const std::vector<ReadRow>& record) {
    if (!options.cpu.empty()) {
        report::Record cpu = report::read_record(options.cpu);
        return {std::move(cpu.rows), report::plot_caption(cpu.sidecar.provenance)};
    }
    options.run.histories = histories_of(record, options.longest);
    return replay::measure_own_machine(options.run);
}

std::filesystem::path plot_stem(const Options& options) {
    return options.plots / (options.record.stem().string() + "-replay");
}

// Asked before minutes are spent.
void require_outputs(const Options& options) {
    if (!options.plots.empty()) {
        for (const auto& picture : report::picture_paths(plot_stem(options))) {
            report::require_writable(picture);
        }
    }
}

void draw(const Options& options, const report::Record& record, const replay::OwnRows& own) {
    const std::filesystem::path stem = plot_stem(options);
    report::plot_share(
        record.rows, own.rows, stem,
        {"Share: time of the limit over time of the read, the fastest sample of "
         "each. Limit: load-only on the GPU, read floor on the CPU.",
         "CPU: " + own.source, "GPU: " + report::plot_caption(record.sidecar.provenance)});
    fmt::print("\ndrew {}.png and .svg\n", stem.string());
}

// Not by read_record: what a record gets wrong is told figure by figure.
void tell(const Options& options) {
    const report::Record record{report::read_csv(options.record),
                                report::read_sidecar(report::sidecar_path(options.record))};
    report::require_whole_record(record.rows, record.sidecar);
    const auto rows = report::rows_from_samples(record.rows, record.sidecar);
    report::require_same_rows(record.rows, rows, record.sidecar);
    const replay::OwnRows own = own_rows(options, record.rows);
    fmt::print("{}: all {} rows are what their samples say\n{}\n", options.record.string(),
               rows.size(), report::plot_caption(record.sidecar.provenance));
    fmt::print(
        "share: of the GPU's measured ceiling, load_only_nhd; own: of the read floor of the "
        "machine at hand,\nby its streaming read of one sequence of the same history\n");
    fmt::print("{}", report::format_replay(rows, own.rows));
    if (!options.plots.empty()) {
        draw(options, record, own);
    }
}

int run(int argc, char** argv) {
    Options options;
    CLI::App app{"Computes the table of a GPU's record anew from its raw samples.", kProgram};
    add_flags(app, options);
    if (!days::parse_or_help(app, argc, argv)) {
        return kFine;
    }
    require_outputs(options);
    tell(options);
    return kFine;
}

}  // namespace

int main(int argc, char** argv) {
    try {
        return report::end_program(kProgram, run(argc, argv));
    } catch (const CLI::ParseError& error) {
        return report::fail_program(kProgram, kWrongUsage, error);
    } catch (const report::PlotError& error) {
        return report::fail_program(kProgram, kPlotFailed, error);
    } catch (const report::RecordError& error) {
        return report::fail_program(kProgram, kFailed, error);
    } catch (const report::FileError& error) {
        return report::fail_program(kProgram, kFilesFailed, error);
    } catch (const std::exception& error) {
        return report::fail_program(kProgram, kFailed, error);
    }
}
