// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include "figure_table.hpp"

#include "figure_text.hpp"
#include "page_error.hpp"
#include "text.hpp"

#include <nanoserve/report/table.hpp>

#include <fmt/core.h>

#include <optional>
#include <vector>

namespace nanoserve::pages {
namespace {

constexpr const char* kNoValue = "–";

struct TableQuery {
    CellQuery base;
    std::string by;
    std::vector<std::pair<std::string, std::string>> columns;  // head, figure
};

TableQuery parse_table(std::string_view text) {
    const std::vector<std::string_view> lines = split(text, "\n");
    if (lines.empty()) {
        throw PageError("a table needs the name of a file");
    }
    TableQuery table{parse_cell(lines[0]), "", {}};
    for (std::size_t i = 1; i < lines.size(); ++i) {
        if (i == 1 && lines[i].starts_with("by ")) {
            table.by = trimmed(lines[i].substr(3));
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

// One column from top to bottom; a misspelt key would make it a column of dashes.
std::vector<std::string> column_cells(DataFolder& data, const TableQuery& table,
                                      const std::string& figure,
                                      const std::vector<std::string>& values) {
    std::vector<std::string> cells;
    std::optional<NoSuchCell> missing;
    bool has_value = false;
    for (const std::string& value : values) {
        CellQuery base = table.base;
        base.keys.push_back({table.by, value});
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

std::string pivot_table(DataFolder& data, const TableQuery& table) {
    const std::vector<std::string> keys =
        distinct_values(matching_rows(data.file(table.base.file), table.base), table.by);
    std::string head = fmt::format("| {} |", axis_name(table.by));
    std::string rule = "| ---: |";
    std::vector<std::string> lines;
    for (const std::string& key : keys) {
        lines.push_back(fmt::format("| {} |", key));
    }
    for (const auto& [name, figure] : table.columns) {
        head += fmt::format(" {} |", name);
        rule += " ---: |";
        const std::vector<std::string> cells = column_cells(data, table, figure, keys);
        for (std::size_t i = 0; i < lines.size(); ++i) {
            lines[i] += fmt::format(" {} |", cells[i]);
        }
    }
    std::string text = head + "\n" + rule + "\n";
    for (const std::string& line : lines) {
        text += line + "\n";
    }
    return text;
}

}  // namespace

std::string figure_table(DataFolder& data, std::string_view text) {
    const TableQuery table = parse_table(text);
    const std::string lines =
        table.by.empty()
            ? report::markdown_table(matching_rows(data.file(table.base.file), table.base))
            : pivot_table(data, table);
    return fmt::format("{}\n*{}*\n", lines, source_text(data, table.base.file));
}

}  // namespace nanoserve::pages
