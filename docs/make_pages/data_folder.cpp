// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include "data_folder.hpp"

#include "page_error.hpp"

#include <nanoserve/report/csv.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace nanoserve::pages {
namespace {

using report::ReadRow;
using report::ReadRowColumn;

const ReadRowColumn& find_column(std::string_view name) {
    for (const ReadRowColumn& column : report::read_row_columns()) {
        if (column.name == name) {
            return column;
        }
    }
    throw PageError(fmt::format("no column is called \"{}\"", name));
}

std::string to_text(const std::string& value) {
    return value;
}
std::string to_text(std::int64_t value) {
    return std::to_string(value);
}
std::string to_text(std::optional<std::int64_t> value) {
    return value ? std::to_string(*value) : "";
}
std::string to_text(std::optional<double>) {
    throw PageError("a measured column can't be a key");
}

std::optional<CellValue> to_value(std::optional<double> value) {
    return value ? std::optional<CellValue>(*value) : std::nullopt;
}
template <typename Text>
std::optional<CellValue> to_value(const Text& value) {
    const std::string text = to_text(value);
    return text.empty() ? std::nullopt : std::optional<CellValue>(text);
}

bool has_key(const ReadRow& row, const CellQuery::Key& key) {
    return key_text(row, key.column) == key.value;
}

std::string differing_columns(const std::vector<ReadRow>& rows) {
    std::string text;
    for (const ReadRowColumn& column : report::read_row_columns()) {
        if (std::holds_alternative<std::optional<double> ReadRow::*>(column.member) ||
            column.name == "verdict") {
            continue;
        }
        if (const auto values = distinct_values(rows, column.name); values.size() > 1) {
            text += fmt::format("{}{} ({})", text.empty() ? "" : "; ", column.name,
                                fmt::join(values, ", "));
        }
    }
    return text;
}

// The value of a name in the JSON file.
template <typename Pairs>
const auto& member(const Pairs& pairs, std::string_view name, const CellQuery& query) {
    const auto found = std::find_if(pairs.begin(), pairs.end(),
                                    [&](const auto& pair) { return pair.first == name; });
    if (found == pairs.end()) {
        throw PageError(fmt::format("data/{}.json has no {}", query.file, query.column));
    }
    return found->second;
}

CellValue value_or_fail(const std::optional<CellValue>& value, const CellQuery& query) {
    if (!value) {
        throw NoSuchCell(fmt::format("data/{} holds no value for {}", query.file, describe(query)));
    }
    return *value;
}

constexpr std::string_view kFitted = "fitted.";
constexpr std::string_view kOptions = "options.";

}  // namespace

std::string key_text(const ReadRow& row, std::string_view column) {
    return std::visit([&](auto member) { return to_text(row.*member); },
                      find_column(column).member);
}

std::vector<std::string> distinct_values(const std::vector<ReadRow>& rows,
                                         std::string_view column) {
    std::vector<std::string> values;
    for (const ReadRow& row : rows) {
        if (const std::string value = key_text(row, column);
            std::find(values.begin(), values.end(), value) == values.end()) {
            values.push_back(value);
        }
    }
    return values;
}

std::vector<ReadRow> matching_rows(const ResultFile& file, const CellQuery& query) {
    std::vector<ReadRow> rows = file.rows;
    for (const CellQuery::Key& key : query.keys) {
        const std::vector<std::string> values = distinct_values(rows, key.column);
        std::erase_if(rows, [&](const ReadRow& row) { return !has_key(row, key); });
        if (rows.empty()) {
            throw NoSuchCell(fmt::format("data/{}.csv has no row for {}: {} is one of {} there",
                                         query.file, describe(query), key.column,
                                         fmt::join(values, ", ")));
        }
    }
    return rows;
}

const ResultFile& DataFolder::file(const std::string& name) {
    const auto known = files_.find(name);
    if (known != files_.end()) {
        return known->second;
    }
    const std::filesystem::path csv = folder_ / (name + ".csv");
    if (name.empty() || !std::filesystem::exists(csv)) {
        throw PageError(fmt::format("there is no data/{}.csv", name));
    }
    ResultFile file{report::read_csv(csv), report::read_sidecar(report::sidecar_path(csv))};
    return files_.emplace(name, std::move(file)).first->second;
}

CellValue DataFolder::cell(const CellQuery& query) {
    const ResultFile& results = file(query.file);
    const std::string_view column = query.column;
    if (column.starts_with(kFitted)) {
        const auto& value = member(results.sidecar.fitted, column.substr(kFitted.size()), query);
        return value_or_fail(value ? std::optional<CellValue>(*value) : std::nullopt, query);
    }
    if (column.starts_with(kOptions)) {
        return member(results.sidecar.options, column.substr(kOptions.size()), query);
    }
    const std::vector<ReadRow> rows = matching_rows(results, query);
    if (rows.size() != 1) {
        throw PageError(fmt::format("data/{}.csv has {} rows for {}: say also {}", query.file,
                                    rows.size(), describe(query), differing_columns(rows)));
    }
    return value_or_fail(std::visit([&](auto member) { return to_value(rows.front().*member); },
                                    find_column(column).member),
                         query);
}

}  // namespace nanoserve::pages
