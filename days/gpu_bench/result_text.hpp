// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// Results as lines for a terminal.
#pragma once

#include "results.hpp"

#include <nanoserve/report/read_row.hpp>

#include <optional>
#include <span>
#include <string>

namespace nanoserve::gpu_bench {

/// "3.00 us", or a dash.
[[nodiscard]] std::string us_text(std::optional<double> us);

/// "1.27", or a dash.
[[nodiscard]] std::string ratio_text(std::optional<double> over, std::optional<double> under);

/// Cell by cell, a line for each read: what was foretold, best and median, how far the prediction
/// is off, GB/s, multiple of the load-only read, error. Rows of one cell must follow each other, as
/// in the CSV.
[[nodiscard]] std::string format_rows(std::span<const report::ReadRow> rows);

/// A whole record in less room: a table for each shape, in it a line for each read of each cell but
/// the ceilings, with the time of load_only_nhd in its own column.
[[nodiscard]] std::string format_record(std::span<const report::ReadRow> rows);

/// What the rows of a cell don't say: why it was skipped, or its checked sequences, layers,
/// verdicts and facts.
[[nodiscard]] std::string format_remarks(const CellResult& cell);

}  // namespace nanoserve::gpu_bench
