// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// A table of measured figures, as a page asks for it:
//
//   table day-21-kernel-h200: head_dim=64, num_seqs=64
//   by seq_len
//   kernel: best_us, read=kernel
//   of the limit: floor_us, read=kernel / best_us as %
//
// First the keys that all cells share; then the column, or columns, whose values begin the lines;
// then the columns of figures, each with its head. Without lines of its own it is the table that
// the days' programs print.
#pragma once

#include "data_folder.hpp"

#include <string>
#include <string_view>

namespace nanoserve::pages {

/// The table that `text` asks for, in Markdown, and the line that says where its figures come from.
/// A cell without a row, or without a value in it, is a dash. Throws `PageError` for a file or a
/// column that isn't there, for a row that isn't the only one, and for a table of dashes.
[[nodiscard]] std::string figure_table(DataFolder& data, std::string_view text);

}  // namespace nanoserve::pages
