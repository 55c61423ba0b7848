// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// A result file together with its sidecar: the figures, and where they come from.
#pragma once

#include <nanoserve/report/read_row.hpp>
#include <nanoserve/report/sidecar.hpp>

#include <cstddef>
#include <filesystem>
#include <optional>
#include <span>
#include <vector>

namespace nanoserve::report {

/// The rows of a run and the sidecar of the same run.
struct Record {
    std::vector<ReadRow> rows;
    Sidecar sidecar;
};

/// Whether two figures from the same `num_samples` samples are the same, rounding apart.
[[nodiscard]] bool is_same_figure(std::optional<double> a, std::optional<double> b,
                                  std::size_t num_samples);

/// Throws `FileError` naming the first row whose best_us is not, rounding apart, its fastest
/// sample: then rows and sidecar are of different runs. A row's samples are the series of its
/// history that is called by its `series_name`, or by its read alone, as in a record of one shape.
/// A row without samples is taken as it is.
void require_same_run(std::span<const ReadRow> rows, const Sidecar& sidecar);

/// The result file and its sidecar, once `require_same_run` has passed. Throws `FileError` naming
/// the file.
[[nodiscard]] Record read_record(const std::filesystem::path& csv_path);

}  // namespace nanoserve::report
