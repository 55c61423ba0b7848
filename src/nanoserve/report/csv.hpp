// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// Result files: rows of reads as CSV, and back.
#pragma once

#include <nanoserve/report/read_row.hpp>

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace nanoserve::report {

/// The header and one line for each row, with `.` as the decimal point in every locale. Numbers are
/// the shortest text that reads back as the same value; an absent or non-finite number is an empty
/// cell.
[[nodiscard]] std::string to_csv(std::span<const ReadRow> rows);

/// The rows of a file that `to_csv` could have written. The header must be exactly ours. Throws
/// `FileError` naming line, column and value for a wrong header, a wrong number of fields, and a
/// cell that is not a number or a verdict where one is due.
[[nodiscard]] std::vector<ReadRow> parse_csv(std::string_view text);

/// Writes `to_csv(rows)` to `path`; see `write_file_atomically` for what happens on failure.
void write_csv(const std::filesystem::path& path, std::span<const ReadRow> rows);

/// `parse_csv` of the file; errors name the file too.
[[nodiscard]] std::vector<ReadRow> read_csv(const std::filesystem::path& path);

}  // namespace nanoserve::report
