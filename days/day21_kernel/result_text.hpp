// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// The results of a cell as lines for a terminal.
#pragma once

#include "measurement.hpp"

#include <nanoserve/report/read_row.hpp>

#include <span>
#include <string>

namespace nanoserve::day21 {

/// Cell by cell, a line for each read: what was foretold, best and median, how far the prediction
/// is off, GB/s, multiple of the load-only read, error. Rows of one cell must follow each other, as
/// in the CSV.
[[nodiscard]] std::string format_rows(std::span<const report::ReadRow> rows);

/// What the rows of a cell don't say: layers, checked sequences, verdict, the host's view.
[[nodiscard]] std::string format_remarks(const CellResult& cell);

}  // namespace nanoserve::day21
