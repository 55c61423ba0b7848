// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include "sweep_files.hpp"

#include <nanoserve/report/atomic_file.hpp>
#include <nanoserve/report/plot/picture_files.hpp>
#include <nanoserve/report/plot/plot_paged_read.hpp>
#include <nanoserve/report/record.hpp>

#include <fmt/core.h>

namespace nanoserve::day20 {
namespace {

// A time too short for a double of microseconds is none.
std::optional<double> to_us(std::optional<double> ns) {
    return ns && *ns / 1e3 > 0 ? std::optional(*ns / 1e3) : std::nullopt;
}

report::ReadRow row_of(const Options& options, const std::string& machine, const SweepPoint& point,
                       std::string read, const ReadTiming& timing) {
    const AttentionShape& shape = options.model.attention;
    report::ReadRow row;
    row.machine = machine;
    row.read = std::move(read);
    row.dtype = nanoserve::to_string(options.dtype);
    row.threads = options.num_threads;
    row.cache = to_string(options.cache);
    row.num_q_heads = shape.num_q_heads;
    row.num_kv_heads = shape.num_kv_heads;
    row.head_dim = shape.head_dim;
    row.num_seqs = 1;
    row.seq_len = point.seq_len;
    row.pattern = "uniform";
    row.block_size = options.block_size;
    row.layout = "NHD";
    row.best_us = to_us(timing.best_ns());
    row.mean_us = to_us(timing.mean_ns());
    row.median_us = to_us(timing.median_ns());
    row.lo_us = to_us(timing.low_ns());
    row.hi_us = to_us(timing.high_ns());
    if (timing.best_ns()) {
        row.gb_per_s = static_cast<double>(point.kv_bytes) / *timing.best_ns();  // bytes per ns
    }
    return row;
}

report::SampleSeries series_of(const SweepPoint& point, const std::string& read, const char* role,
                               const ReadTiming& timing) {
    return {read, point.seq_len, role, timing.samples_ns()};
}

// The ratio of the last two bests of a read: what the last stretch of history costs.
std::optional<double> last_leg_of(std::span<const report::ReadRow> rows, std::string_view read) {
    std::optional<double> before, last;
    for (const report::ReadRow& row : rows) {
        if (row.read == read) {
            before = std::exchange(last, row.best_us);
        }
    }
    return before && last ? std::optional(*last / *before) : std::nullopt;
}

}  // namespace

std::vector<report::ReadRow> to_rows(const Options& options, const std::string& machine,
                                     std::span<const SweepPoint> points) {
    std::vector<report::ReadRow> rows;
    for (const SweepPoint& point : points) {
        for (const MeasuredRead& read : point.reads) {
            report::ReadRow row = row_of(options, machine, point, read.name, read.timing);
            row.floor_us = to_us(point.floor.best_ns());
            row.rel_err = read.error;
            if (read.comparison) {
                row.speedup = read.comparison->speedup();
                row.verdict = nanoserve::to_string(read.comparison->verdict());
            }
            rows.push_back(std::move(row));
        }
        rows.push_back(row_of(options, machine, point, "read_floor", point.floor));
    }
    return rows;
}

std::optional<ReadCostFit> fit_of(std::span<const report::ReadRow> rows, std::string_view read) {
    std::vector<CostPoint> points;
    for (const report::ReadRow& row : rows) {
        if (row.read == read && row.best_us) {
            points.push_back({static_cast<double>(row.seq_len), *row.best_us});
        }
    }
    return fit_read_cost(points);
}

report::Sidecar to_sidecar(const Options& options, const report::Provenance& provenance,
                           std::span<const SweepPoint> points,
                           std::span<const report::ReadRow> rows) {
    report::Sidecar sidecar;
    sidecar.provenance = provenance;
    sidecar.options = to_pairs(options);
    for (const std::string& read : options.reads) {
        const auto fit = fit_of(rows, read);
        const auto add = [&](const char* name, std::optional<double> value) {
            sidecar.fitted.emplace_back(fmt::format("{}.{}", read, name), value);
        };
        add("floor_us", fit ? std::optional(fit->floor_us) : std::nullopt);
        add("us_per_token", fit ? std::optional(fit->us_per_token) : std::nullopt);
        add("crossover_tokens", fit ? fit->crossover_tokens() : std::nullopt);
        add("last_leg_ratio", last_leg_of(rows, read));
    }
    for (const SweepPoint& point : points) {
        for (const MeasuredRead& read : point.reads) {
            sidecar.fitted.emplace_back(
                fmt::format("{}.google_benchmark_us.{}", read.name, point.seq_len),
                read.benchmark_us);
            const char* role = read.comparison          ? "candidate"
                               : point.reads.size() > 1 ? "baseline"
                                                        : "alone";
            sidecar.samples.push_back(series_of(point, read.name, role, read.timing));
        }
        sidecar.samples.push_back(series_of(point, "read_floor", "alone", point.floor));
    }
    return sidecar;
}

void require_outputs(const Options& options) {
    report::require_writable(options.csv());
    report::require_writable(report::sidecar_path(options.csv()));
    for (const auto& picture : report::picture_paths(options.plot_stem())) {
        report::require_writable(picture);
    }
}

void write_files(const Options& options, std::span<const report::ReadRow> rows,
                 const report::Sidecar& sidecar) {
    report::write_results(options.csv(), rows, sidecar);
}

void draw_plots(const Options& options) {
    const report::Record record = report::read_record(options.csv());
    report::plot_paged_read(record.rows, options.plot_stem(),
                            report::plot_caption(record.sidecar.provenance));
}

}  // namespace nanoserve::day20
