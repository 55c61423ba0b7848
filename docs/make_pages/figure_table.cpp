// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include "figure_table.hpp"

#include "figure_text.hpp"
#include "page_error.hpp"
#include "text.hpp"

#include <nanoserve/report/table.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <vector>

namespace nanoserve::pages {
namespace {

constexpr const char* kNoValue = "–";

struct TableQuery {
    CellQuery base;
    std::vector<std::string> by;
    std::vector<std::pair<std::string, std::string>> columns;  // head, figure
};

TableQuery parse_table(std::string_view text) {
    const std::vector<std::string_view> lines = split(text, "\n");
    if (lines.empty()) {
        throw PageError("a table needs the name of a file");
    }
    TableQuery table{parse_cell(lines[0]), {}, {}};
    for (std::size_t i = 1; i < lines.size(); ++i) {
        if (i == 1 && lines[i].starts_with("by ")) {
            for (const std::string_view column : split(lines[i].substr(3), ",")) {
                table.by.emplace_back(column);
            }
            continue;
        }
        const auto [head, figure] = cut(lines[i], ": ");
        if (figure.empty()) {
            throw PageError(
                fmt::format("a column needs a head and a figure, not \"{}\"", lines[i]));
        }
        table.columns.emplace_back(head, figure);
    }
    if (table.by.empty() != table.columns.empty()) {
        throw PageError("a table of figures has a line \"by COLUMN\" and then its columns");
    }
    return table;
}

// The keys of one line of the table: a value for each of the columns in `by`.
using LineKeys = std::vector<CellQuery::Key>;

std::vector<LineKeys> lines_of(const ResultFile& file, const TableQuery& table) {
    std::vector<LineKeys> lines;
    for (const report::ReadRow& row : matching_rows(file, table.base)) {
        LineKeys keys;
        for (const std::string& column : table.by) {
            keys.push_back({column, key_text(row, column)});
        }
        if (std::find(lines.begin(), lines.end(), keys) == lines.end()) {
            lines.push_back(keys);
        }
    }
    return lines;
}

// One column from top to bottom; a misspelt key would make it a column of dashes.
std::vector<std::string> column_cells(DataFolder& data, const TableQuery& table,
                                      const std::string& figure,
                                      const std::vector<LineKeys>& lines) {
    std::vector<std::string> cells;
    std::optional<NoSuchCell> missing;
    bool has_value = false;
    for (const LineKeys& keys : lines) {
        CellQuery base = table.base;
        base.keys.insert(base.keys.end(), keys.begin(), keys.end());
        try {
            cells.push_back(figure_text(data, parse_figure(figure, base)));
            has_value = true;
        } catch (const NoSuchCell& error) {
            cells.emplace_back(kNoValue);
            missing = error;
        }
    }
    if (missing && !has_value) {
        throw NoSuchCell(*missing);
    }
    return cells;
}

std::string axis_name(const std::string& column) {
    return column == "seq_len" ? "history" : column;
}

std::string figures_by_keys(DataFolder& data, const TableQuery& table) {
    const std::vector<LineKeys> keys = lines_of(data.file(table.base.file), table);
    std::string head = "|";
    std::string rule = "|";
    std::vector<std::string> lines(keys.size(), "|");
    const auto append = [&](const std::string& name, const auto& cell) {
        head += fmt::format(" {} |", name);
        rule += " ---: |";
        for (std::size_t i = 0; i < lines.size(); ++i) {
            lines[i] += fmt::format(" {} |", cell(i));
        }
    };
    for (std::size_t k = 0; k < table.by.size(); ++k) {
        append(axis_name(table.by[k]), [&](std::size_t i) { return keys[i][k].value; });
    }
    for (const auto& [name, figure] : table.columns) {
        const std::vector<std::string> cells = column_cells(data, table, figure, keys);
        append(name, [&](std::size_t i) { return cells[i]; });
    }
    return fmt::format("{}\n{}\n{}\n", head, rule, fmt::join(lines, "\n"));
}

}  // namespace

std::string figure_table(DataFolder& data, std::string_view text) {
    const TableQuery table = parse_table(text);
    const std::string lines =
        table.by.empty()
            ? report::markdown_table(matching_rows(data.file(table.base.file), table.base))
            : figures_by_keys(data, table);
    return fmt::format("{}\n*{}*\n", lines, source_text(data, table.base.file));
}

}  // namespace nanoserve::pages
