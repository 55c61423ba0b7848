// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// Results as a table, for the terminal and for the README.
#pragma once

#include <nanoserve/report/read_row.hpp>

#include <span>
#include <string>

namespace nanoserve::report {

/// Aligned plain text: history, read, best, mean, median, interval, multiple of the read floor,
/// GB/s, speedup, verdict. Each time carries its unit. A column in which no row has a value is left
/// out; a missing value is a dash.
[[nodiscard]] std::string format_table(std::span<const ReadRow> rows);

/// The same cells as a Markdown table.
[[nodiscard]] std::string markdown_table(std::span<const ReadRow> rows);

}  // namespace nanoserve::report
