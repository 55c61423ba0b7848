// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include "cpu_curve.hpp"

#include <nanoserve/report/csv.hpp>

#include <fmt/core.h>
#include <gpu_bench/result_text.hpp>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string_view>

namespace nanoserve::day21 {
namespace {

using gpu_bench::ratio_text;
using gpu_bench::us_text;
using report::ReadRow;

std::optional<double> best_us(std::span<const ReadRow> rows, std::string_view read,
                              const ReadRow& cell) {
    const auto found = std::ranges::find_if(rows, [&](const ReadRow& row) {
        return row.read == read && row.num_q_heads == cell.num_q_heads &&
               row.num_kv_heads == cell.num_kv_heads && row.head_dim == cell.head_dim &&
               row.num_seqs == cell.num_seqs && row.seq_len == cell.seq_len;
    });
    return found == rows.end() ? std::nullopt : found->best_us;
}

std::string device(const char* kind, const ReadRow& row) {
    const std::string threads =
        row.threads ? fmt::format(", {} thread{}", *row.threads, *row.threads == 1 ? "" : "s") : "";
    return fmt::format("{}: {}, {}{}, {}", kind, row.machine, row.dtype, threads, row.cache);
}

std::string heading(const ReadRow& cpu, const ReadRow& gpu) {
    return fmt::format(
        "\n{}/{}/{}, {} sequence{}: the recorded reads of a CPU beside the kernel\n{} · {}\n"
        "{:>7} {:>10} {:>14} {:>10} {:>11} {:>17}\n",
        cpu.num_q_heads, cpu.num_kv_heads, cpu.head_dim, cpu.num_seqs, cpu.num_seqs == 1 ? "" : "s",
        device("CPU", cpu), device("GPU", gpu), "history", "CPU fused", "CPU streaming", "kernel",
        "load_only", "streaming/kernel");
}

std::string line_of(std::span<const ReadRow> cpu, std::span<const ReadRow> gpu,
                    const ReadRow& streaming, std::optional<double> kernel_us) {
    return fmt::format("{:>7} {:>10} {:>14} {:>10} {:>11} {:>17}\n", streaming.seq_len,
                       us_text(best_us(cpu, "fused", streaming)), us_text(streaming.best_us),
                       us_text(kernel_us), us_text(best_us(gpu, "load_only_nhd", streaming)),
                       ratio_text(streaming.best_us, kernel_us));
}

}  // namespace

std::vector<ReadRow> recorded_cpu_rows() {
    const auto csv = std::filesystem::path(NANOSERVE_ROOT) / "data" / "day-21-cpu-cold-1.csv";
    return std::filesystem::exists(csv) ? report::read_csv(csv) : std::vector<ReadRow>{};
}

std::string format_beside_cpu(std::span<const ReadRow> cpu, std::span<const ReadRow> gpu) {
    std::string text;
    for (const ReadRow& row : cpu) {
        if (row.read != "streaming") {
            continue;
        }
        if (const auto kernel_us = best_us(gpu, "kernel", row)) {
            text += text.empty() ? heading(row, gpu.front()) : "";
            text += line_of(cpu, gpu, row, kernel_us);
        }
    }
    return text;
}

}  // namespace nanoserve::day21
