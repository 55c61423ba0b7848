// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// The JSON file beside a result file: everything that one line of CSV has no room for.
#pragma once

#include <nanoserve/report/provenance.hpp>
#include <nanoserve/report/read_row.hpp>
#include <nanoserve/report/temporary_file.hpp>

#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace nanoserve::report {

/// Every sample of one read on one point, in the order in which it was taken.
struct SampleSeries {
    std::string read;                ///< as in the column `read`
    std::int64_t seq_len = 0;        ///< as in the column `seq_len`
    std::string role;                ///< "alone", "baseline" or "candidate"
    std::vector<double> samples_ns;  ///< nanoseconds for one read

    bool operator==(const SampleSeries&) const = default;
};

/// The name of a row's series in a record of several shapes and batches: "kernel 32/8/64 num_seqs
/// 8", or "kernel 32/8/64 num_seqs 8 ragged fp16" where the pattern is not uniform and the dtype
/// not bf16.
[[nodiscard]] std::string series_name(const ReadRow& row);

/// The name of an option or a fitted scalar that belongs to the row's cell: "layers 32/8/64
/// num_seqs 8 seq_len 16".
[[nodiscard]] std::string fact_name(std::string_view name, const ReadRow& row);

/// What goes into the file. Options and fitted scalars keep their order; each name may occur once.
struct Sidecar {
    Provenance provenance;
    std::vector<std::pair<std::string, std::string>> options;
    std::vector<std::pair<std::string, std::optional<double>>> fitted;
    std::vector<SampleSeries> samples;

    bool operator==(const Sidecar&) const = default;
};

/// The sidecar of a result file: "data/day-20.csv" has "data/day-20.json".
[[nodiscard]] std::filesystem::path sidecar_path(const std::filesystem::path& csv_path);

/// Strict JSON, one line for each series. Numbers that are not finite become null.
/// Throws `std::invalid_argument` when an option or a fitted scalar occurs twice.
[[nodiscard]] std::string to_json(const Sidecar& sidecar);

/// The sidecar that `to_json` wrote; a sample that is null comes back as NaN, a null scalar as no
/// value. Throws `FileError` for text that is not JSON, another schema, a missing or mistyped
/// member, and one that occurs twice.
[[nodiscard]] Sidecar parse_sidecar(std::string_view text);

/// Writes `to_json(sidecar)` to `path`; see `write_file_atomically` for what happens on failure.
void write_sidecar(const std::filesystem::path& path, const Sidecar& sidecar);

/// Replaces a result file and its sidecar, both or neither; see `write_files_atomically`.
void write_results(const std::filesystem::path& csv_path, std::span<const ReadRow> rows,
                   const Sidecar& sidecar, WriteBytes write_bytes = &::write);

/// `parse_sidecar` of the file; errors name the file too.
[[nodiscard]] Sidecar read_sidecar(const std::filesystem::path& path);

}  // namespace nanoserve::report
