// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include "results.hpp"

#include <nanoserve/attention/instruction_set.hpp>
#include <nanoserve/report/atomic_file.hpp>
#include <nanoserve/report/csv.hpp>
#include <nanoserve/report/provenance.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <cctype>

namespace nanoserve::gpu_bench {
namespace {

std::optional<double> to_us(std::optional<double> ns) {
    return ns ? std::optional(*ns / 1e3) : std::nullopt;
}

std::optional<double> floor_us_of(const CellResult& cell) {
    const auto found = std::ranges::find(cell.reads, "load_only_nhd", &ReadResult::read);
    return found == cell.reads.end() ? std::nullopt : to_us(found->timing.best_ns());
}

report::ReadRow key_of(const ReadCell& cell) {
    report::ReadRow row;
    row.dtype = nanoserve::to_string(cell.dtype);
    row.num_q_heads = cell.shape.num_q_heads;
    row.num_kv_heads = cell.shape.num_kv_heads;
    row.head_dim = cell.shape.head_dim;
    row.num_seqs = cell.num_seqs;
    row.seq_len = mean_seq_len(cell);
    row.pattern = to_string(cell.pattern);
    return row;
}

report::ReadRow row_of(const std::string& machine, const CellResult& cell, const ReadResult& read) {
    report::ReadRow row = key_of(cell.cell);
    row.machine = machine;
    row.read = read.read;
    row.cache = cell.l2_bytes > 0
                    ? report::cache_state(static_cast<double>(cell.num_layers * cell.kv_bytes),
                                          static_cast<double>(cell.l2_bytes))
                    : "";
    if (!read.layout.empty()) {
        row.block_size = cell.cell.block_size;
    }
    row.layout = read.layout;
    row.best_us = to_us(read.timing.best_ns());
    row.mean_us = to_us(read.timing.mean_ns());
    row.median_us = to_us(read.timing.median_ns());
    row.lo_us = to_us(read.timing.low_ns());
    row.hi_us = to_us(read.timing.high_ns());
    row.floor_us = floor_us_of(cell);
    row.predicted_us = read.predicted_us;
    if (read.timing.best_ns()) {
        row.gb_per_s = static_cast<double>(cell.kv_bytes) / *read.timing.best_ns();  // bytes per ns
    }
    row.rel_err = read.relative_error;
    if (read.comparison) {
        row.speedup = read.comparison->speedup();
        row.verdict = nanoserve::to_string(read.comparison->verdict());
    }
    return row;
}

// Samples are replays; the file holds nanoseconds of one read.
std::vector<double> samples_of_one_read(const ReadTiming& timing) {
    std::vector<double> samples = timing.samples_ns();
    for (double& sample : samples) {
        sample /= static_cast<double>(timing.calls_per_sample());
    }
    return samples;
}

void add_cell(report::Sidecar& sidecar, const CellResult& cell) {
    const report::ReadRow key = key_of(cell.cell);
    const auto add = [&](const std::string& name, std::optional<double> value) {
        sidecar.fitted.emplace_back(report::fact_name(name, key), value);
    };
    add("layers", static_cast<double>(cell.num_layers));
    add("kv_bytes", static_cast<double>(cell.kv_bytes));
    add("l2_bytes", static_cast<double>(cell.l2_bytes));
    add("checked_seqs", static_cast<double>(cell.num_checked_seqs));
    for (const auto& [name, value] : cell.facts) {
        add(name, value);
    }
    for (const ReadResult& read : cell.reads) {
        sidecar.samples.push_back({report::series_name(row_of("", cell, read)), key.seq_len,
                                   read.role, samples_of_one_read(read.timing)});
    }
}

}  // namespace

std::string csv_name(const std::string& stem, const std::string& gpu_name) {
    std::string name = gpu_name.starts_with("NVIDIA ") ? gpu_name.substr(7) : gpu_name;
    for (char& c : name) {
        const auto byte = static_cast<unsigned char>(c);
        c = std::isalnum(byte) != 0 ? static_cast<char>(std::tolower(byte)) : '-';
    }
    return fmt::format("{}-{}.csv", stem, name);
}

std::vector<report::ReadRow> to_rows(const std::string& machine,
                                     std::span<const CellResult> cells) {
    std::vector<report::ReadRow> rows;
    for (const CellResult& cell : cells) {
        for (const ReadResult& read : cell.reads) {
            rows.push_back(row_of(machine, cell, read));
        }
    }
    return rows;
}

report::Sidecar to_sidecar(const NamedOptions& options, const report::Provenance& provenance,
                           std::span<const CellResult> cells) {
    report::Sidecar sidecar;
    sidecar.provenance = provenance;
    sidecar.options = options;
    for (const CellResult& cell : cells) {
        if (cell.skipped.empty()) {
            add_cell(sidecar, cell);
        } else {
            sidecar.options.emplace_back(report::fact_name("skipped", key_of(cell.cell)),
                                         cell.skipped);
        }
    }
    return sidecar;
}

void require_outputs(const std::filesystem::path& folder, const std::string& stem,
                     const std::string& gpu_name) {
    const std::filesystem::path csv = folder / csv_name(stem, gpu_name);
    report::require_writable(csv);
    report::require_writable(report::sidecar_path(csv));
}

std::filesystem::path write_files(const std::filesystem::path& folder, const std::string& stem,
                                  const NamedOptions& options, const report::GpuFacts& gpu,
                                  std::span<const CellResult> cells,
                                  report::WriteBytes write_bytes) {
    const auto provenance =
        report::collect_provenance(nanoserve::to_string(default_instruction_set()), gpu);
    const std::filesystem::path csv = folder / csv_name(stem, gpu.name);
    report::write_results(csv, to_rows(report::machine_name(provenance), cells),
                          to_sidecar(options, provenance, cells), write_bytes);
    return csv;
}

std::string unfinished(const std::string& stem) {
    return stem + "-unfinished";
}

std::filesystem::path finish_files(const std::filesystem::path& folder, const std::string& stem,
                                   const NamedOptions& options, const report::GpuFacts& gpu,
                                   std::span<const CellResult> cells) {
    const std::filesystem::path csv = write_files(folder, stem, options, gpu, cells);
    const std::filesystem::path so_far = folder / csv_name(unfinished(stem), gpu.name);
    std::filesystem::remove(so_far);
    std::filesystem::remove(report::sidecar_path(so_far));
    return csv;
}

}  // namespace nanoserve::gpu_bench
