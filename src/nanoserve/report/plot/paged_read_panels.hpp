// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// The two boxes of text beside the chart, as text. Every number comes from the facts, and every
// sentence holds whichever way they fall.
#pragma once

#include <nanoserve/report/plot/paged_read_facts.hpp>

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace nanoserve::report {

/// One line of a panel's table: a label and a cell for each column.
struct PanelRow {
    std::string label;
    std::vector<std::string> cells;
};

/// A box of text: heading, headline (may be empty), a small table with a column for each read, and
/// wrapped lines.
struct Panel {
    std::string heading;
    std::string headline;
    std::vector<std::string> columns;
    std::vector<PanelRow> rows;
    std::vector<std::string> lines;
};

/// What a panel has room for.
inline constexpr std::size_t kMaxPanelColumns = 3;
inline constexpr std::size_t kMaxPanelColumnLength = 9;
inline constexpr std::size_t kMaxPanelCellLength = 11;
inline constexpr std::size_t kMaxPanelLabelLength = 19;
inline constexpr std::size_t kMaxPanelLines = 5;
inline constexpr std::size_t kMaxPanelLineLength = 53;

/// "Where the cost lives": fixed floor, cost of a token, crossover and last leg of each read.
[[nodiscard]] Panel cost_panel(const PagedReadFacts& facts);

/// "What the kernel's job is": the time to beat, the distance to the read floor, and the reads
/// against each other.
[[nodiscard]] Panel job_panel(const PagedReadFacts& facts);

namespace detail {

/// The reads that have a column: the first ones.
[[nodiscard]] std::span<const ReadCurve> panel_reads(const PagedReadFacts& facts);

/// A panel with its heading and the names of the reads.
[[nodiscard]] Panel start_panel(std::string_view heading, const PagedReadFacts& facts);

/// Adds a line to the table; `cell` turns a read into text.
template <typename Cell>
void add_row(Panel& panel, std::string label, const PagedReadFacts& facts, Cell cell) {
    PanelRow row{std::move(label), {}};
    for (const ReadCurve& curve : panel_reads(facts)) {
        row.cells.push_back(cell(curve));
    }
    panel.rows.push_back(std::move(row));
}

/// Adds a sentence, wrapped. Lines beyond `kMaxPanelLines` are left out.
void add_sentence(Panel& panel, std::string_view sentence);

}  // namespace detail

}  // namespace nanoserve::report
