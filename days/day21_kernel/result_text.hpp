// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// The results of a cell as lines for a terminal.
#pragma once

#include "measurement.hpp"

#include <nanoserve/report/read_row.hpp>

#include <optional>
#include <span>
#include <string>

namespace nanoserve::day21 {

/// "3.00 us", or a dash.
[[nodiscard]] std::string us_text(std::optional<double> us);

/// "1.27", or a dash.
[[nodiscard]] std::string ratio_text(std::optional<double> over, std::optional<double> under);

/// Cell by cell, a line for each read: what was foretold, best and median, how far the prediction
/// is off, GB/s, multiple of the load-only read, error. Rows of one cell must follow each other, as
/// in the CSV.
[[nodiscard]] std::string format_rows(std::span<const report::ReadRow> rows);

/// What the rows of a cell don't say: layers, checked sequences, verdict, the host's view.
[[nodiscard]] std::string format_remarks(const CellResult& cell);

}  // namespace nanoserve::day21
