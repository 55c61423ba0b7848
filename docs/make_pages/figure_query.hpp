// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// How a page names a measured figure:
//
//   day-20-readbench: best_us, read=fused, seq_len=4096
//       one cell of data/day-20-readbench.csv
//   day-20-readbench: best_us, read=gather, seq_len=4096 / read=fused
//       a ratio; behind the slash stands only what is different there
//   ... as %
//       the ratio in per cent
//   ..., verdict=*
//       without that key, where it would come from before the slash or from a table
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace nanoserve::pages {

/// One cell: the file's name without ending, a column, and the keys that pick its row. A column
/// `fitted.NAME` or `options.NAME` is a member of the JSON file beside the CSV and takes no keys.
struct CellQuery {
    struct Key {
        std::string column;
        std::string value;

        bool operator==(const Key&) const = default;
    };

    std::string file;
    std::string column;
    std::vector<Key> keys;

    bool operator==(const CellQuery&) const = default;
};

/// A cell, or the first of two cells over the second.
struct FigureQuery {
    enum class Form { plain, percent };

    std::vector<CellQuery> cells;  ///< one or two
    Form form = Form::plain;       ///< how a ratio is written

    bool operator==(const FigureQuery&) const = default;
};

/// `base` with the words of `text` on top: "FILE: COLUMN, KEY=VALUE, ...", each part of which may
/// be missing. Throws `PageError` for two columns and for a key without a value.
[[nodiscard]] CellQuery parse_cell(std::string_view text, CellQuery base = {});

/// Reads a figure; parts that are missing come from `base`. Throws `PageError` for text that
/// `parse_cell` refuses, for more than one slash and for an unknown form.
[[nodiscard]] FigureQuery parse_figure(std::string_view text, const CellQuery& base = {});

/// The query as one line for an error.
[[nodiscard]] std::string describe(const CellQuery& query);

}  // namespace nanoserve::pages
