// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include "result_text.hpp"

#include <nanoserve/report/number_text.hpp>

#include <fmt/core.h>

namespace nanoserve::day21 {
namespace {

// How far the best is from what was foretold: "+12 %" took longer.
std::string residual_text(const report::ReadRow& row) {
    if (!row.best_us || !row.predicted_us) {
        return "-";
    }
    return fmt::format("{:+.0f} %", 100.0 * (*row.best_us / *row.predicted_us - 1.0));
}

bool same_cell(const report::ReadRow& a, const report::ReadRow& b) {
    return a.num_q_heads == b.num_q_heads && a.num_kv_heads == b.num_kv_heads &&
           a.head_dim == b.head_dim && a.num_seqs == b.num_seqs && a.seq_len == b.seq_len;
}

std::string heading(const report::ReadRow& row) {
    return fmt::format(
        "\n{}/{}/{}, {} sequence{} of {} tokens\n{:<14} {:>10} {:>10} {:>10} {:>9} {:>6} {:>7} "
        "{:>8}\n",
        row.num_q_heads, row.num_kv_heads, row.head_dim, row.num_seqs, row.num_seqs == 1 ? "" : "s",
        row.seq_len, "read", "predicted", "best", "median", "residual", "GB/s", "x floor",
        "rel_err");
}

}  // namespace

std::string us_text(std::optional<double> us) {
    return us ? fmt::format("{} us", report::digits_text(*us)) : "-";
}

std::string ratio_text(std::optional<double> over, std::optional<double> under) {
    return over && under && *under > 0.0 ? report::ratio_text(*over / *under) : "-";
}

std::string format_rows(std::span<const report::ReadRow> rows) {
    std::string text;
    const report::ReadRow* before = nullptr;
    for (const report::ReadRow& row : rows) {
        if (before == nullptr || !same_cell(*before, row)) {
            text += heading(row);
        }
        before = &row;
        text += fmt::format("{:<14} {:>10} {:>10} {:>10} {:>9} {:>6} {:>7} {:>8}\n", row.read,
                            us_text(row.predicted_us), us_text(row.best_us), us_text(row.median_us),
                            residual_text(row),
                            row.gb_per_s ? fmt::format("{:.0f}", *row.gb_per_s) : "-",
                            ratio_text(row.best_us, row.floor_us),
                            row.rel_err ? fmt::format("{:.1e}", *row.rel_err) : "-");
    }
    return text;
}

std::string format_remarks(const CellResult& cell) {
    const auto us = [](std::optional<double> ns) {
        return us_text(ns ? std::optional(*ns / 1e3) : std::nullopt);
    };
    std::string text = fmt::format("outputs equal the oracle's ({} of {} sequences checked)",
                                   cell.num_checked_seqs, cell.cell.num_seqs);
    if (cell.comparison.speedup()) {
        text += fmt::format(
            "; {} layers in a replay; against gather: {}; one launch and the wait "
            "for it, as the host sees it: best {}, median {}",
            cell.num_layers, describe(cell.comparison), us(cell.host.best_ns()),
            us(cell.host.median_ns()));
    }
    return text + "\n";
}

}  // namespace nanoserve::day21
