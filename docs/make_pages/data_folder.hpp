// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// The result files of the course, and one cell of them.
#pragma once

#include "figure_query.hpp"

#include <nanoserve/report/read_row.hpp>
#include <nanoserve/report/sidecar.hpp>

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace nanoserve::pages {

/// A cell as the file holds it: a number in the column's unit, or text.
using CellValue = std::variant<double, std::string>;

/// The rows of one CSV and the JSON beside it.
struct ResultFile {
    std::vector<report::ReadRow> rows;
    report::Sidecar sidecar;
};

/// The rows that have all the keys of `query`, in the order of the file. Throws `PageError` for a
/// key that is no column and `NoSuchCell`, naming the values there are, for one that no row has.
[[nodiscard]] std::vector<report::ReadRow> matching_rows(const ResultFile& file,
                                                         const CellQuery& query);

/// The cell of `row` in a column, as text: "" where the row has no value.
[[nodiscard]] std::string key_text(const report::ReadRow& row, std::string_view column);

/// The different values of a column, in the order of the rows.
[[nodiscard]] std::vector<std::string> distinct_values(const std::vector<report::ReadRow>& rows,
                                                       std::string_view column);

/// Reads `data/` when it is asked, each file once.
class DataFolder {
  public:
    explicit DataFolder(std::filesystem::path folder) : folder_(std::move(folder)) {}

    /// Throws `PageError` if there is no such file, `report::FileError` if it can't be read.
    [[nodiscard]] const ResultFile& file(const std::string& name);

    /// The one cell that `query` names. Throws `NoSuchCell` when no row matches or the cell is
    /// empty, and `PageError` when more than one row matches, naming what would tell them apart.
    [[nodiscard]] CellValue cell(const CellQuery& query);

  private:
    std::filesystem::path folder_;
    std::map<std::string, ResultFile> files_;
};

}  // namespace nanoserve::pages
