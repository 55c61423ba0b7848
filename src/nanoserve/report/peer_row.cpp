// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <nanoserve/report/atomic_file.hpp>
#include <nanoserve/report/csv_cells.hpp>
#include <nanoserve/report/file_error.hpp>
#include <nanoserve/report/number_text.hpp>
#include <nanoserve/report/peer_row.hpp>

#include <fmt/core.h>

#include <array>

namespace nanoserve::report {
namespace {

constexpr std::array kColumns = {"num_q_heads", "num_kv_heads", "head_dim", "kv_dtype",
                                 "num_seqs",    "seq_len",      "ragged",   "peer",
                                 "best_us",     "median_us",    "gb_per_s", "rel_err"};

// The cells of one line, taken from left to right.
class Cells {
  public:
    explicit Cells(const CsvRecord& record) : record_(record) {}

    std::int64_t whole_number() { return number(parse_int64(cell()), "not a whole number"); }
    double time() { return number(parse_double(cell()), "not a finite number"); }
    std::string text() { return record_.cells[at_++]; }

  private:
    [[nodiscard]] const std::string& cell() const { return record_.cells[at_]; }

    template <class Number>
    Number number(const std::optional<Number>& parsed, const char* problem) {
        if (!parsed) {
            throw FileError(fmt::format("line {}, column {}: \"{}\" is {}", record_.line,
                                        kColumns[at_], cell(), problem));
        }
        ++at_;
        return *parsed;
    }

    const CsvRecord& record_;
    std::size_t at_ = 0;
};

void require_columns(const CsvRecord& record) {
    if (record.cells.size() != kColumns.size()) {
        throw FileError(fmt::format("line {}: {} fields instead of {}", record.line,
                                    record.cells.size(), kColumns.size()));
    }
}

void check_header(const CsvRecord& header) {
    require_columns(header);
    for (std::size_t i = 0; i < kColumns.size(); ++i) {
        if (header.cells[i] != kColumns[i]) {
            throw FileError(
                fmt::format("line {}, column {}: the header says \"{}\" instead of \"{}\"",
                            header.line, i + 1, header.cells[i], kColumns[i]));
        }
    }
}

PeerRow parse_row(const CsvRecord& record) {
    require_columns(record);
    Cells cells(record);
    PeerRow row;
    row.num_q_heads = cells.whole_number();
    row.num_kv_heads = cells.whole_number();
    row.head_dim = cells.whole_number();
    row.kv_dtype = cells.text();
    row.num_seqs = cells.whole_number();
    row.seq_len = cells.whole_number();
    row.ragged = cells.whole_number() != 0;
    row.peer = cells.text();
    row.best_us = cells.time();
    row.median_us = cells.time();
    return row;
}

}  // namespace

std::vector<PeerRow> parse_peers(std::string_view text) {
    std::vector<PeerRow> rows;
    bool has_header = false;
    for (const CsvRecord& record : parse_csv_records(text)) {
        if (record.cells.front().starts_with('#')) {
            continue;
        }
        if (has_header) {
            rows.push_back(parse_row(record));
        } else {
            check_header(record);
            has_header = true;
        }
    }
    if (!has_header) {
        throw FileError("the header is missing");
    }
    return rows;
}

std::vector<PeerRow> read_peers(const std::filesystem::path& path) {
    const std::string text = read_file(path);
    try {
        return parse_peers(text);
    } catch (const FileError& error) {
        throw FileError(fmt::format("{}, {}", path.string(), error.what()));
    }
}

}  // namespace nanoserve::report
