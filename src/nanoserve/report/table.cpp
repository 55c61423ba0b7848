// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <nanoserve/report/number_text.hpp>
#include <nanoserve/report/plot/wrapped_text.hpp>
#include <nanoserve/report/table.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <vector>

namespace nanoserve::report {
namespace {

constexpr const char* kNoValue = "–";

struct TableColumn {
    const char* name;
    bool is_text;  // text is aligned to the left, numbers to the right
    std::string (*cell)(const ReadRow&);
};

std::string optional_text(std::optional<double> value, std::string (*text)(double)) {
    return value && std::isfinite(*value) ? text(*value) : kNoValue;
}

std::string three_digits(double value) {
    return digits_text(value, 3);
}

std::string interval_text(const ReadRow& row) {
    return row.lo_us && row.hi_us
               ? fmt::format("{} to {}", duration_text(*row.lo_us), duration_text(*row.hi_us))
               : kNoValue;
}

std::string times_floor_text(const ReadRow& row) {
    return row.best_us && row.floor_us && *row.floor_us > 0
               ? ratio_text(*row.best_us / *row.floor_us)
               : kNoValue;
}

constexpr TableColumn kColumns[] = {
    {"history", false, [](const ReadRow& row) { return std::to_string(row.seq_len); }},
    {"read", true, [](const ReadRow& row) { return row.read; }},
    {"best", false, [](const ReadRow& row) { return optional_text(row.best_us, duration_text); }},
    {"mean", false, [](const ReadRow& row) { return optional_text(row.mean_us, duration_text); }},
    {"median", false,
     [](const ReadRow& row) { return optional_text(row.median_us, duration_text); }},
    {"interval", false, interval_text},
    {"× floor", false, times_floor_text},
    {"GB/s", false, [](const ReadRow& row) { return optional_text(row.gb_per_s, three_digits); }},
    {"speedup", false, [](const ReadRow& row) { return optional_text(row.speedup, ratio_text); }},
    {"verdict", true,
     [](const ReadRow& row) { return row.verdict.empty() ? std::string(kNoValue) : row.verdict; }},
};

// One column as text, all cells padded to the same width.
struct FilledColumn {
    bool is_text = false;
    std::vector<std::string> cells;  // the name first
};

void pad(FilledColumn& column) {
    std::size_t width = 0;
    for (const std::string& cell : column.cells) {
        width = std::max(width, num_characters(cell));
    }
    for (std::string& cell : column.cells) {
        const std::string blanks(width - num_characters(cell), ' ');
        cell = column.is_text ? cell + blanks : blanks + cell;
    }
}

std::vector<FilledColumn> filled_columns(std::span<const ReadRow> rows) {
    std::vector<FilledColumn> columns;
    for (const TableColumn& column : kColumns) {
        FilledColumn filled{column.is_text, {column.name}};
        bool has_value = rows.empty();
        for (const ReadRow& row : rows) {
            filled.cells.push_back(column.cell(row));
            has_value = has_value || filled.cells.back() != kNoValue;
        }
        if (has_value) {
            pad(filled);
            columns.push_back(std::move(filled));
        }
    }
    return columns;
}

std::string joined(const std::vector<FilledColumn>& columns, std::size_t row,
                   std::string_view separator) {
    std::string line;
    for (const FilledColumn& column : columns) {
        line += line.empty() ? "" : separator;
        line += column.cells[row];
    }
    return line;
}

std::string without_trailing_blanks(std::string line) {
    line.erase(line.find_last_not_of(' ') + 1);
    return line;
}

std::string markdown_rule(const std::vector<FilledColumn>& columns) {
    std::string line = "|";
    for (const FilledColumn& column : columns) {
        line += column.is_text ? " :--- |" : " ---: |";
    }
    return line + "\n";
}

}  // namespace

std::string format_table(std::span<const ReadRow> rows) {
    const std::vector<FilledColumn> columns = filled_columns(rows);
    std::string table;
    for (std::size_t row = 0; row <= rows.size(); ++row) {
        table += without_trailing_blanks(joined(columns, row, "  ")) + "\n";
    }
    return table;
}

std::string markdown_table(std::span<const ReadRow> rows) {
    const std::vector<FilledColumn> columns = filled_columns(rows);
    std::string table;
    for (std::size_t row = 0; row <= rows.size(); ++row) {
        table += "| " + joined(columns, row, " | ") + " |\n";
        table += row == 0 ? markdown_rule(columns) : "";
    }
    return table;
}

}  // namespace nanoserve::report
