// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <nanoserve/report/atomic_file.hpp>
#include <nanoserve/report/csv.hpp>
#include <nanoserve/report/csv_cells.hpp>
#include <nanoserve/report/file_error.hpp>
#include <nanoserve/report/number_text.hpp>

#include <fmt/core.h>

#include <cmath>
#include <variant>

namespace nanoserve::report {
namespace {

std::string to_cell(const std::string& text) {
    return csv_cell(text);
}

std::string to_cell(std::int64_t value) {
    return std::to_string(value);
}

std::string to_cell(std::optional<std::int64_t> value) {
    return value ? std::to_string(*value) : "";
}

std::string to_cell(std::optional<double> value) {
    return value && std::isfinite(*value) ? exact_text(*value) : "";
}

// Each `from_cell` returns what is wrong with the text, or nullptr.
const char* from_cell(const std::string& text, std::string& value) {
    value = text;
    return nullptr;
}

const char* from_cell(const std::string& text, std::int64_t& value) {
    const std::optional<std::int64_t> parsed = parse_int64(text);
    value = parsed.value_or(0);
    return parsed ? nullptr : "not a whole number";
}

const char* from_cell(const std::string& text, std::optional<std::int64_t>& value) {
    value = parse_int64(text);
    return value || text.empty() ? nullptr : "neither a whole number nor empty";
}

const char* from_cell(const std::string& text, std::optional<double>& value) {
    value = parse_double(text);
    return value || text.empty() ? nullptr : "neither a finite number nor empty";
}

// What a picture says depends on the word.
bool is_verdict(std::string_view text) {
    return text.empty() || text == "faster" || text == "slower" || text == "no difference";
}

void check_num_fields(const CsvRecord& record) {
    if (record.cells.size() != read_row_columns().size()) {
        throw FileError(fmt::format("line {}: {} fields instead of {}", record.line,
                                    record.cells.size(), read_row_columns().size()));
    }
}

void check_header(const CsvRecord& header) {
    check_num_fields(header);
    for (std::size_t i = 0; i < header.cells.size(); ++i) {
        if (header.cells[i] != read_row_columns()[i].name) {
            throw FileError(
                fmt::format("line {}, column {}: the header says \"{}\" instead of \"{}\"",
                            header.line, i + 1, header.cells[i], read_row_columns()[i].name));
        }
    }
}

ReadRow parse_row(const CsvRecord& record) {
    check_num_fields(record);
    ReadRow row;
    for (std::size_t i = 0; i < record.cells.size(); ++i) {
        const ReadRowColumn& column = read_row_columns()[i];
        const std::string& cell = record.cells[i];
        const char* problem =
            std::visit([&](auto member) { return from_cell(cell, row.*member); }, column.member);
        if (column.name == "verdict" && !is_verdict(cell)) {
            problem = "none of faster, slower, no difference, and not empty";
        }
        if (problem != nullptr) {
            throw FileError(fmt::format("line {}, column {}: \"{}\" is {}", record.line,
                                        column.name, cell, problem));
        }
    }
    return row;
}

}  // namespace

std::string to_csv(std::span<const ReadRow> rows) {
    std::string text;
    for (const ReadRowColumn& column : read_row_columns()) {
        text += text.empty() ? "" : ",";
        text += column.name;
    }
    text += '\n';
    for (const ReadRow& row : rows) {
        std::string line;
        for (const ReadRowColumn& column : read_row_columns()) {
            line += std::visit([&](auto member) { return to_cell(row.*member); }, column.member);
            line += ',';
        }
        line.back() = '\n';
        text += line;
    }
    return text;
}

std::vector<ReadRow> parse_csv(std::string_view text) {
    const std::vector<CsvRecord> records = parse_csv_records(text);
    if (records.empty()) {
        throw FileError("line 1: the header is missing, the file is empty");
    }
    check_header(records.front());
    std::vector<ReadRow> rows;
    for (const CsvRecord& record : std::span(records).subspan(1)) {
        rows.push_back(parse_row(record));
    }
    return rows;
}

void write_csv(const std::filesystem::path& path, std::span<const ReadRow> rows) {
    write_file_atomically(path, to_csv(rows));
}

std::vector<ReadRow> read_csv(const std::filesystem::path& path) {
    const std::string text = read_file(path);
    try {
        return parse_csv(text);
    } catch (const FileError& error) {
        throw FileError(fmt::format("{}, {}", path.string(), error.what()));
    }
}

}  // namespace nanoserve::report
