// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// Day 21: stream K and V block by block, read and softmax in one pass: the first CUDA kernel.
#include "cpu_curve.hpp"
#include "cpu_story.hpp"
#include "measurement.hpp"
#include "options.hpp"
#include "warm_up.hpp"

#include <nanoserve/report/file_error.hpp>
#include <nanoserve/report/program_end.hpp>

#include <fmt/core.h>
#include <gpu_bench/gpu_facts.hpp>
#include <gpu_bench/result_text.hpp>
#include <gpu_bench/results.hpp>

#include <cstdio>
#include <exception>

using namespace nanoserve;
using namespace nanoserve::day21;
using namespace nanoserve::gpu_bench;

namespace {

constexpr const char* kProgram = "day21";
constexpr const char* kStem = "day-21-kernel";

void print_cell(const CellResult& cell) {
    fmt::print("{}{}", format_rows(to_rows("", {&cell, 1})), format_remarks(cell));
    std::fflush(stdout);
}

void measure_all(const Options& options) {
    const report::GpuFacts gpu = gpu_facts();
    fmt::print("{}, CUDA {}, driver {}, clocks: {}\n", gpu.name, gpu.cuda, gpu.driver, gpu.clocks);
    fmt::print("bf16, block_size {}, shuffled tables, cold; best and median of {} graph replays\n",
               options.block_size, options.num_samples);
    const bool write = !options.data.empty() && !options.check_only;
    if (write) {
        require_outputs(options.data, kStem, gpu.name);
    }
    std::vector<CellResult> results;
    for (const ReadCell& cell : options.cells()) {
        results.push_back(measure(options, cell));
        print_cell(results.back());
        if (write) {
            write_files(options.data, unfinished(kStem), to_pairs(options), gpu, results);
        }
    }
    fmt::print("{}", format_beside_cpu(recorded_cpu_rows(), to_rows(gpu.name, results)));
    if (write) {
        const auto csv = finish_files(options.data, kStem, to_pairs(options), gpu, results);
        fmt::print("\nwrote {}\n", csv.string());
    }
}

int run(int argc, char** argv) {
    const auto parsed = parse_options(argc, argv);
    if (const auto* refusal = std::get_if<Refusal>(&parsed)) {
        return report::end_at_once(kProgram, refusal->status, refusal->text);
    }
    const Options& options = std::get<Options>(parsed);
    if (options.warm_up) {
        fmt::print("{}", tell_warm_up());
    } else if (const auto reason = reason_for_no_measurement()) {
        fmt::print("No GPU is measured: {}.\n", *reason);
        tell_without_gpu();
    } else {
        measure_all(options);
    }
    return kFine;
}

}  // namespace

int main(int argc, char** argv) {
    try {
        return report::end_program(kProgram, run(argc, argv));
    } catch (const report::FileError& error) {
        return report::fail_program(kProgram, kFilesFailed, error);
    } catch (const std::exception& error) {
        return report::fail_program(kProgram, kMeasurementFailed, error);
    }
}
