// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// A measured figure as text with its unit.
#pragma once

#include "data_folder.hpp"
#include "figure_query.hpp"

#include <string>

namespace nanoserve::pages {

/// The figure with three digits and the unit of its column: "1.19 ms", "4.64 TB/s", "1.69 ×", "59
/// %", or the cell's text. Throws what `DataFolder::cell` throws, and `PageError` for a ratio of
/// texts or with a zero below.
[[nodiscard]] std::string figure_text(DataFolder& data, const FigureQuery& figure);

/// The machine, its software, the date and the commit of a result file, as one line.
[[nodiscard]] std::string source_text(DataFolder& data, const std::string& file);

}  // namespace nanoserve::pages
