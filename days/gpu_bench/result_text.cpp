// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include "result_text.hpp"

#include <nanoserve/report/number_text.hpp>
#include <nanoserve/report/sidecar.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <cstddef>

namespace nanoserve::gpu_bench {
namespace {

// How far the best is from what was foretold: "+12 %" took longer.
std::string residual_text(const report::ReadRow& row) {
    if (!row.best_us || !row.predicted_us) {
        return "-";
    }
    return fmt::format("{:+.0f} %", 100.0 * (*row.best_us / *row.predicted_us - 1.0));
}

bool same_cell(const report::ReadRow& a, const report::ReadRow& b) {
    return report::fact_name("", a) == report::fact_name("", b);
}

// What is not as in most cells.
std::string remark_of(const report::ReadRow& row) {
    std::string text = row.pattern == "uniform" ? "" : ", " + row.pattern;
    text += row.dtype == "bf16" ? "" : ", " + row.dtype;
    text += row.cache == "warm" ? ", warm" : "";
    text +=
        row.block_size.value_or(16) == 16 ? "" : fmt::format(", block_size {}", *row.block_size);
    return text + (row.layout == "NHD" || row.layout.empty() ? "" : ", " + row.layout);
}

bool is_ceiling(const report::ReadRow& row) {
    return row.read.starts_with("load_only") || row.read == "read_stream";
}

std::string shape_text(const report::ReadRow& row) {
    return fmt::format("{}/{}/{} {}{}", row.num_q_heads, row.num_kv_heads, row.head_dim, row.dtype,
                       row.block_size.value_or(16) == 16
                           ? ""
                           : fmt::format(", block_size {}", *row.block_size)) +
           (row.layout == "NHD" ? "" : ", " + row.layout);
}

std::string heading(const report::ReadRow& row, std::size_t width) {
    return fmt::format(
        "\n{}/{}/{}, {} sequence{} of {} tokens{}\n{:<{}} {:>10} {:>10} {:>10} {:>9} {:>6} {:>7} "
        "{:>8}\n",
        row.num_q_heads, row.num_kv_heads, row.head_dim, row.num_seqs, row.num_seqs == 1 ? "" : "s",
        row.seq_len, remark_of(row), "read", width, "predicted", "best", "median", "residual",
        "GB/s", "x floor", "rel_err");
}

}  // namespace

std::string us_text(std::optional<double> us) {
    return us ? fmt::format("{} us", report::digits_text(*us)) : "-";
}

std::string ratio_text(std::optional<double> over, std::optional<double> under) {
    return over && under && *under > 0.0 ? report::ratio_text(*over / *under) : "-";
}

std::string format_rows(std::span<const report::ReadRow> rows) {
    std::size_t width = 14;
    for (const report::ReadRow& row : rows) {
        width = std::max(width, row.read.size());
    }
    std::string text;
    const report::ReadRow* before = nullptr;
    for (const report::ReadRow& row : rows) {
        if (before == nullptr || !same_cell(*before, row)) {
            text += heading(row, width);
        }
        before = &row;
        text += fmt::format("{:<{}} {:>10} {:>10} {:>10} {:>9} {:>6} {:>7} {:>8}\n", row.read,
                            width, us_text(row.predicted_us), us_text(row.best_us),
                            us_text(row.median_us), residual_text(row),
                            row.gb_per_s ? fmt::format("{:.0f}", *row.gb_per_s) : "-",
                            ratio_text(row.best_us, row.floor_us),
                            row.rel_err ? fmt::format("{:.1e}", *row.rel_err) : "-");
    }
    return text;
}

std::string format_record(std::span<const report::ReadRow> rows) {
    std::size_t width = 4;
    for (const report::ReadRow& row : rows) {
        width = std::max(width, row.read.size());
    }
    std::string text;
    std::string shape;
    for (const report::ReadRow& row : rows) {
        if (is_ceiling(row)) {
            continue;
        }
        if (shape != shape_text(row)) {
            shape = shape_text(row);
            text += fmt::format(
                "\n{}\n{:>9} {:>7}  {:<{}} {:>10} {:>10} {:>10} {:>10} {:>9} {:>6} {:>8}\n", shape,
                "sequences", "tokens", "read", width, "predicted", "best", "median", "load-only",
                "x ceiling", "GB/s", "rel_err");
        }
        text += fmt::format("{:>9} {:>7}  {:<{}} {:>10} {:>10} {:>10} {:>10} {:>9} {:>6} {:>8}{}\n",
                            row.num_seqs, row.seq_len, row.read, width, us_text(row.predicted_us),
                            us_text(row.best_us), us_text(row.median_us), us_text(row.floor_us),
                            ratio_text(row.best_us, row.floor_us),
                            row.gb_per_s ? fmt::format("{:.0f}", *row.gb_per_s) : "-",
                            row.rel_err ? fmt::format("{:.1e}", *row.rel_err) : "-",
                            row.pattern == "uniform" ? "" : "  " + row.pattern);
    }
    return text;
}

std::string format_remarks(const CellResult& cell) {
    if (!cell.skipped.empty()) {
        return fmt::format("\n{}: skipped, {}\n", label_of(cell.cell), cell.skipped);
    }
    std::string text = fmt::format("outputs equal the oracle's ({} of {} sequences checked)",
                                   cell.num_checked_seqs, cell.cell.num_seqs);
    text += fmt::format("; {} layer{}", cell.num_layers, cell.num_layers == 1 ? "" : "s");
    for (const ReadResult& read : cell.reads) {
        if (read.comparison && read.comparison->speedup()) {
            text +=
                fmt::format("; {} against the baseline: {}", read.read, describe(*read.comparison));
        }
    }
    for (const auto& [name, value] : cell.facts) {
        text += value ? fmt::format("; {} {}", name, report::digits_text(*value)) : "";
    }
    return text + "\n";
}

}  // namespace nanoserve::gpu_bench
