// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include "figure_text.hpp"

#include "page_error.hpp"

#include <nanoserve/report/number_text.hpp>
#include <nanoserve/report/provenance.hpp>

#include <fmt/core.h>

#include <cmath>

namespace nanoserve::pages {
namespace {

double number(DataFolder& data, const CellQuery& query) {
    const CellValue value = data.cell(query);
    if (const double* number = std::get_if<double>(&value)) {
        return *number;
    }
    throw PageError(fmt::format("{} is text, so it has no ratio", describe(query)));
}

std::string rate_text(double gb_per_s) {
    return gb_per_s < 999.5 ? report::digits_text(gb_per_s) + " GB/s"
                            : report::digits_text(gb_per_s / 1000) + " TB/s";
}

// Columns are named by their unit; a name of a fitted scalar may have more behind it.
std::string with_unit(const std::string& column, double value) {
    if (column.find("_us") != std::string::npos) {
        return report::duration_text(value);
    }
    if (column == "gb_per_s") {
        return rate_text(value);
    }
    if (column == "speedup" || column.ends_with("_ratio")) {
        return report::ratio_text(value) + " ×";
    }
    return report::digits_text(value, column == "rel_err" ? 2 : 3);
}

std::string percent_text(double ratio) {
    const double percent = 100 * ratio;
    return percent < 9.95 ? report::digits_text(percent, 2) + " %"
                          : fmt::format("{:.0f} %", percent);
}

}  // namespace

std::string figure_text(DataFolder& data, const FigureQuery& figure) {
    if (figure.cells.size() == 1) {
        const CellValue value = data.cell(figure.cells[0]);
        const double* number = std::get_if<double>(&value);
        return number ? with_unit(figure.cells[0].column, *number) : std::get<std::string>(value);
    }
    const double below = number(data, figure.cells[1]);
    if (below == 0) {
        throw PageError(fmt::format("{} is zero, so it has no ratio", describe(figure.cells[1])));
    }
    const double ratio = number(data, figure.cells[0]) / below;
    return figure.form == FigureQuery::Form::percent ? percent_text(ratio)
                                                     : report::ratio_text(ratio) + " ×";
}

std::string source_text(DataFolder& data, const std::string& file) {
    return fmt::format("{} · data/{}.csv", report::plot_caption(data.file(file).sidecar.provenance),
                       file);
}

}  // namespace nanoserve::pages
