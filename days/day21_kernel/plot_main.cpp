// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// Draws the picture of Day 21 again from data/: the CPU's reads and the H200's kernel; times
// nothing.
#include <nanoserve/model/model_config.hpp>
#include <nanoserve/report/plot/plot_kernel.hpp>
#include <nanoserve/report/program_end.hpp>
#include <nanoserve/report/record.hpp>

#include <command_line/parse.hpp>
#include <fmt/core.h>

#include <exception>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

using namespace nanoserve;

namespace {

constexpr const char* kProgram = "day21_plot";

// As in Day 20.
enum ExitStatus : int { kFine = 0, kWrongUsage = 2, kFilesFailed = 3, kPlotFailed = 4 };

struct Folders {
    std::filesystem::path data = std::filesystem::path(NANOSERVE_ROOT) / "data";
    std::filesystem::path plots = std::filesystem::path(NANOSERVE_ROOT) / "plots";
};

// The GPU's reads are cold: its batches rotate. So the CPU's are the cold ones, on one thread.
constexpr const char* kCpuFile = "day-21-cpu-cold-1.csv";
constexpr const char* kGpuFile = "day-21-kernel-h200.csv";
constexpr const char* kStem = "day-21-kernel";

std::string source_of(const char* device, const report::Record& record, const char* file) {
    return fmt::format("{}: {} · {}", device, report::plot_caption(record.sidecar.provenance),
                       file);
}

void draw(const Folders& folders) {
    const auto cpu_file = folders.data / kCpuFile;
    const auto gpu_file = folders.data / kGpuFile;
    report::Record cpu = report::read_record(cpu_file);
    report::Record gpu = report::read_record(gpu_file);
    const std::vector<std::string> foot = {
        "Marker: fastest sample. Bar: 5th to 95th percentile. Limit: load-only on the GPU, read "
        "floor on the CPU. One read takes all sequences of its batch.",
        source_of("CPU", cpu, kCpuFile), source_of("GPU", gpu, kGpuFile)};
    report::plot_kernel({.cpu = std::move(cpu.rows),
                         .gpu = std::move(gpu.rows),
                         .shape = llama_3_2_1b().attention,
                         .num_seqs = {1, 64}},
                        folders.plots / kStem, foot);
    fmt::print("drew {}.png and .svg from {} and {}\n", (folders.plots / kStem).string(),
               cpu_file.string(), gpu_file.string());
}

int run(int argc, char** argv) {
    Folders folders;
    CLI::App app{"Draws the picture of Day 21 from data/.", kProgram};
    app.add_option("--data", folders.data, "folder of the CSV files");
    app.add_option("--plots", folders.plots, "folder that gets the pictures");
    app.footer(
        "Exit status: 0 fine; 2 wrong usage; 3 a data file could not be read, or standard output "
        "not written; 4 the\npicture could not be drawn. A run that is interrupted leaves both "
        "pictures as they were.");
    if (!days::parse_or_help(app, argc, argv)) {
        return kFine;
    }
    draw(folders);
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
    } catch (const std::exception& error) {
        return report::fail_program(kProgram, kFilesFailed, error);
    }
}
