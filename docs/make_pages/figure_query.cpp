// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include "figure_query.hpp"

#include "page_error.hpp"
#include "text.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

namespace nanoserve::pages {
namespace {

void set_key(CellQuery& query, std::string_view column, std::string_view value) {
    if (column.empty() || value.empty()) {
        throw PageError(
            fmt::format("a key needs a name and a value, not \"{}={}\"", column, value));
    }
    const auto same = std::find_if(query.keys.begin(), query.keys.end(),
                                   [&](const auto& key) { return key.column == column; });
    if (value == "*") {
        std::erase_if(query.keys, [&](const auto& key) { return key.column == column; });
    } else if (same != query.keys.end()) {
        same->value = value;
    } else {
        query.keys.push_back({std::string(column), std::string(value)});
    }
}

}  // namespace

CellQuery parse_cell(std::string_view text, CellQuery base) {
    if (text.find(": ") != std::string_view::npos || text.ends_with(':')) {
        const auto [file, rest] = cut(text, ":");
        base.file = file;
        text = rest;
    }
    bool has_column = false;
    for (const std::string_view word : split(text, ",")) {
        if (word.find('=') != std::string_view::npos) {
            const auto [column, value] = cut(word, "=");
            set_key(base, column, value);
        } else if (!std::exchange(has_column, true)) {
            base.column = word;
        } else {
            throw PageError(fmt::format("two columns, \"{}\" and \"{}\"", base.column, word));
        }
    }
    return base;
}

FigureQuery parse_figure(std::string_view text, const CellQuery& base) {
    FigureQuery figure;
    if (text.find(" as ") != std::string_view::npos) {
        const auto [before, form] = cut(text, " as ");
        if (form != "%") {
            throw PageError(fmt::format("a figure can be written \"as %\", not \"as {}\"", form));
        }
        figure.form = FigureQuery::Form::percent;
        text = before;
    }
    const auto [first, second] = cut(text, " / ");
    figure.cells.push_back(parse_cell(first, base));
    if (!second.empty()) {
        if (second.find(" / ") != std::string_view::npos) {
            throw PageError("a figure is one cell or the ratio of two, not of three");
        }
        figure.cells.push_back(parse_cell(second, figure.cells.front()));
    }
    return figure;
}

std::string describe(const CellQuery& query) {
    std::string text = query.column;
    for (const CellQuery::Key& key : query.keys) {
        text += fmt::format(", {}={}", key.column, key.value);
    }
    return text;
}

}  // namespace nanoserve::pages
