// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include "result_files.hpp"

#include <nanoserve/attention/instruction_set.hpp>
#include <nanoserve/report/csv.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <cctype>

namespace nanoserve::day21 {
namespace {

std::optional<double> to_us(std::optional<double> ns) {
    return ns ? std::optional(*ns / 1e3) : std::nullopt;
}

std::optional<double> floor_us_of(const CellResult& cell) {
    const auto found = std::ranges::find(cell.reads, "load_only_nhd", &ReadResult::read);
    return found == cell.reads.end() ? std::nullopt : to_us(found->timing.best_ns());
}

report::ReadRow row_of(const Options& options, const std::string& machine, const CellResult& cell,
                       const ReadResult& read) {
    const AttentionShape& shape = cell.cell.model.attention;
    report::ReadRow row;
    row.machine = machine;
    row.read = read.read;
    row.dtype = "bf16";
    row.cache = "cold";
    row.num_q_heads = shape.num_q_heads;
    row.num_kv_heads = shape.num_kv_heads;
    row.head_dim = shape.head_dim;
    row.num_seqs = cell.cell.num_seqs;
    row.seq_len = cell.cell.seq_len;
    row.pattern = "uniform";
    if (!read.layout.empty()) {
        row.block_size = options.block_size;
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
    if (read.role == "candidate") {
        row.speedup = cell.comparison.speedup();
        row.verdict = to_string(cell.comparison.verdict());
    }
    return row;
}

std::string cell_text(const Cell& cell) {
    const AttentionShape& shape = cell.model.attention;
    return fmt::format("{}/{}/{} num_seqs {}", shape.num_q_heads, shape.num_kv_heads,
                       shape.head_dim, cell.num_seqs);
}

// Samples are replays; the file holds nanoseconds of one read.
std::vector<double> samples_of_one_read(const ReadTiming& timing) {
    std::vector<double> samples = timing.samples_ns();
    for (double& sample : samples) {
        sample /= static_cast<double>(timing.calls_per_sample());
    }
    return samples;
}

}  // namespace

std::string csv_name(const std::string& gpu_name) {
    std::string name = gpu_name.starts_with("NVIDIA ") ? gpu_name.substr(7) : gpu_name;
    for (char& c : name) {
        const auto byte = static_cast<unsigned char>(c);
        c = std::isalnum(byte) != 0 ? static_cast<char>(std::tolower(byte)) : '-';
    }
    return fmt::format("day-21-kernel-{}.csv", name);
}

std::vector<report::ReadRow> to_rows(const Options& options, const std::string& machine,
                                     std::span<const CellResult> cells) {
    std::vector<report::ReadRow> rows;
    for (const CellResult& cell : cells) {
        for (const ReadResult& read : cell.reads) {
            rows.push_back(row_of(options, machine, cell, read));
        }
    }
    return rows;
}

report::Sidecar to_sidecar(const Options& options, const report::Provenance& provenance,
                           std::span<const CellResult> cells) {
    report::Sidecar sidecar;
    sidecar.provenance = provenance;
    sidecar.options = to_pairs(options);
    for (const CellResult& cell : cells) {
        const std::string where =
            fmt::format("{} seq_len {}", cell_text(cell.cell), cell.cell.seq_len);
        if (!cell.skipped.empty()) {
            sidecar.options.emplace_back("skipped " + where, cell.skipped);
            continue;
        }
        const auto add = [&](const char* name, std::optional<double> value) {
            sidecar.fitted.emplace_back(fmt::format("{} {}", name, where), value);
        };
        add("layers", static_cast<double>(cell.num_layers));
        add("checked_seqs", static_cast<double>(cell.num_checked_seqs));
        add("kernel.host_best_us", to_us(cell.host.best_ns()));
        add("kernel.host_median_us", to_us(cell.host.median_ns()));
        for (const ReadResult& read : cell.reads) {
            sidecar.samples.push_back({report::series_name(row_of(options, "", cell, read)),
                                       cell.cell.seq_len, read.role,
                                       samples_of_one_read(read.timing)});
        }
    }
    return sidecar;
}

std::filesystem::path write_files(const Options& options, const report::GpuFacts& gpu,
                                  std::span<const CellResult> cells) {
    const auto provenance =
        report::collect_provenance(nanoserve::to_string(default_instruction_set()), gpu);
    const std::filesystem::path csv = options.data / csv_name(gpu.name);
    report::write_csv(csv, to_rows(options, report::machine_name(provenance), cells));
    report::write_sidecar(report::sidecar_path(csv), to_sidecar(options, provenance, cells));
    return csv;
}

}  // namespace nanoserve::day21
