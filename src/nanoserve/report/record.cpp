// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <nanoserve/bench/read_timing.hpp>
#include <nanoserve/report/csv.hpp>
#include <nanoserve/report/file_error.hpp>
#include <nanoserve/report/number_text.hpp>
#include <nanoserve/report/record.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

namespace nanoserve::report {
namespace {

const SampleSeries* find_series(const Sidecar& sidecar, const ReadRow& row) {
    const auto found = std::ranges::find_if(sidecar.samples, [&, name = series_name(row)](
                                                                 const SampleSeries& series) {
        return series.seq_len == row.seq_len && (series.read == name || series.read == row.read);
    });
    return found == sidecar.samples.end() ? nullptr : &*found;
}

// A time too short for a double of microseconds is none.
std::optional<double> best_us_of(const SampleSeries& series) {
    const auto best_ns = ReadTiming(series.samples_ns).best_ns();
    return best_ns && *best_ns / 1e3 > 0 ? std::optional(*best_ns / 1e3) : std::nullopt;
}

std::string value_text(std::optional<double> value) {
    return value ? exact_text(*value) : "empty";
}

}  // namespace

// Both sides add up n samples and divide twice, each in an order of its own: n + 2 roundings, each
// by at most half an epsilon of the result, on either side.
bool is_same_figure(std::optional<double> a, std::optional<double> b, std::size_t num_samples) {
    if (!a || !b) {
        return a == b;
    }
    const double bound =
        static_cast<double>(num_samples + 2) * std::numeric_limits<double>::epsilon();
    return std::abs(*a - *b) <= bound * std::abs(*b);
}

void require_same_run(std::span<const ReadRow> rows, const Sidecar& sidecar) {
    for (const ReadRow& row : rows) {
        const SampleSeries* series = find_series(sidecar, row);
        if (series == nullptr) {
            continue;
        }
        const auto best_us = best_us_of(*series);
        if (!is_same_figure(row.best_us, best_us, series->samples_ns.size())) {
            throw FileError(fmt::format(
                "the record and its sidecar are of different runs: best_us of {}, {} tokens is {} "
                "in the record, the samples say {}",
                series->read, row.seq_len, value_text(row.best_us), value_text(best_us)));
        }
    }
}

Record read_record(const std::filesystem::path& csv_path) {
    Record record{read_csv(csv_path), read_sidecar(sidecar_path(csv_path))};
    try {
        require_same_run(record.rows, record.sidecar);
    } catch (const FileError& error) {
        throw FileError(fmt::format("{}: {}", csv_path.string(), error.what()));
    }
    return record;
}

}  // namespace nanoserve::report
