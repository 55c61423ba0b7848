// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include "decode_day.hpp"

#include "decode_measurement.hpp"
#include "decode_options.hpp"
#include "gpu_facts.hpp"
#include "prediction.hpp"
#include "result_text.hpp"

#include <nanoserve/report/csv.hpp>
#include <nanoserve/report/file_error.hpp>
#include <nanoserve/report/program_end.hpp>
#include <nanoserve/report/sidecar.hpp>

#include <fmt/core.h>

#include <cstdio>
#include <exception>

namespace nanoserve::gpu_bench {
namespace {

void measure_all(const DecodeDay& day, const DecodeOptions& options) {
    const report::GpuFacts gpu = gpu_facts();
    fmt::print("{}, CUDA {}, driver {}, clocks: {}\n", gpu.name, gpu.cuda, gpu.driver, gpu.clocks);
    fmt::print("shuffled tables, layers rotated; best and median of {} graph replays\n",
               options.num_samples);
    const bool write = !options.data.empty() && !options.check_only;
    if (write) {
        require_outputs(options.data, options.set.stem, gpu.name);
    }
    std::vector<CellResult> results;
    for (const ReadCell& cell : options.set.cells) {
        results.push_back(measure(day, options, cell));
        fmt::print("{}{}", format_rows(to_rows("", {&results.back(), 1})),
                   format_remarks(results.back()));
        std::fflush(stdout);
        if (write) {
            write_files(options.data, unfinished(options.set.stem), to_pairs(options), gpu,
                        results);
        }
    }
    if (write) {
        const auto csv =
            finish_files(options.data, options.set.stem, to_pairs(options), gpu, results);
        fmt::print("\nwrote {}\n", csv.string());
    }
}

void print_record(const std::filesystem::path& csv) {
    fmt::print("\nRecorded, from {}:\n{}", csv.string(), format_record(report::read_csv(csv)));
    const auto sidecar = report::sidecar_path(csv);
    if (std::filesystem::exists(sidecar)) {
        fmt::print("\n{}\n", report::plot_caption(report::read_sidecar(sidecar).provenance));
    }
}

void tell_without_gpu(const DecodeDay& day, const DecodeOptions& options) {
    fmt::print("No GPU is measured: {}.\n", *reason_for_no_measurement());
    day.story();
    const auto csv =
        std::filesystem::path(NANOSERVE_ROOT) / "data" / csv_name(options.set.stem, "NVIDIA H200");
    if (std::filesystem::exists(csv)) {
        print_record(csv);
        return;
    }
    std::vector<CellResult> foretold;
    for (const ReadCell& cell : options.set.cells) {
        foretold.push_back(foretell(day, cell, options.as_peers));
    }
    fmt::print("\nThere is no record yet: {} is missing. Foretold, not measured:\n{}",
               csv.filename().string(), format_record(to_rows("", foretold)));
}

ReadResult foretold_ceiling(const char* read, const char* layout, double predicted_us) {
    return {read, layout, "alone", {}, predicted_us};
}

int run(DecodeDay day, int argc, const char* const* argv) {
    const auto parsed = parse_decode_options(day, argc, argv);
    if (const auto* refusal = std::get_if<Refusal>(&parsed)) {
        return report::end_at_once(day.program, refusal->status, refusal->text);
    }
    const DecodeOptions& options = std::get<DecodeOptions>(parsed);
    day.reads = reads_of(day, options.set);
    if (reason_for_no_measurement()) {
        tell_without_gpu(day, options);
    } else {
        measure_all(day, options);
    }
    return kFine;
}

}  // namespace

CellResult foretell(const DecodeDay& day, const ReadCell& cell, bool as_peers) {
    CellResult result;
    result.cell = cell;
    result.kv_bytes = kv_bytes(cell, make_tables(cell));
    for (const DecodeRead& read : day.reads) {
        result.reads.push_back({read.name,
                                std::string(to_string(cell.order)),
                                read.name == day.baseline ? "baseline" : "candidate",
                                {},
                                read.predicted_us(cell)});
    }
    result.reads.push_back(foretold_ceiling("load_only_nhd", "NHD", predicted_load_only_us(cell)));
    result.reads.push_back(foretold_ceiling("load_only_hnd", "HND", predicted_load_only_us(cell)));
    if (as_peers) {
        result.reads.push_back(
            foretold_ceiling("load_only_by_head", "NHD", predicted_load_only_us(cell)));
    }
    result.reads.push_back(foretold_ceiling("read_stream", "", predicted_stream_us(cell)));
    return result;
}

int run_decode_day(const DecodeDay& day, int argc, const char* const* argv) {
    try {
        return report::end_program(day.program, run(day, argc, argv));
    } catch (const report::FileError& error) {
        return report::fail_program(day.program, kFilesFailed, error);
    } catch (const std::exception& error) {
        return report::fail_program(day.program, kMeasurementFailed, error);
    }
}

}  // namespace nanoserve::gpu_bench
