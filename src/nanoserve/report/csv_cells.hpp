// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// Comma-separated text as records of cells (RFC 4180); it knows no column and no number.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace nanoserve::report {

/// One record and the line of the file, counted from 1, on which it begins.
struct CsvRecord {
    std::size_t line = 0;
    std::vector<std::string> cells;
};

/// `text`, put in double quotes when it holds a comma, a quote or a line end.
[[nodiscard]] std::string csv_cell(std::string_view text);

/// Splits a file into records. Lines end with "\n" or "\r\n"; the last may lack its end. An empty
/// line is a record of one empty cell. Throws `FileError` naming the line for a quote inside a bare
/// cell, text behind a closing quote, and a quote that is never closed.
[[nodiscard]] std::vector<CsvRecord> parse_csv_records(std::string_view text);

}  // namespace nanoserve::report
