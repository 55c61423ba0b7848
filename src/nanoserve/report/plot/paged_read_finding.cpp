// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <nanoserve/report/number_text.hpp>
#include <nanoserve/report/plot/paged_read_finding.hpp>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

namespace nanoserve::report {
namespace {

// "3.00 µs at 16 tokens and 1.50 ms at 4096"
std::string cost_span(const ReadCurve& curve) {
    const CostAtHistory& first = curve.shortest();
    std::string text = fmt::format("{} at {} tokens", duration_text(first.best_us), first.seq_len);
    if (curve.points.size() > 1) {
        const CostAtHistory& last = curve.longest();
        text += fmt::format(" and {} at {}", duration_text(last.best_us), last.seq_len);
    }
    return text;
}

std::string cell_text(const std::string& value) {
    return value;
}

std::string cell_text(std::int64_t value) {
    return std::to_string(value);
}

std::string cell_text(std::optional<std::int64_t> value) {
    return value ? std::to_string(*value) : "";
}

// The distinct values of one column, in the order of the rows, without empty ones: "fp32" or "bf16,
// fp8".
template <typename Member>
std::string distinct(std::span<const ReadRow> rows, Member member) {
    std::vector<std::string> values;
    for (const ReadRow& row : rows) {
        std::string value = cell_text(row.*member);
        if (!value.empty() && std::find(values.begin(), values.end(), value) == values.end()) {
            values.push_back(std::move(value));
        }
    }
    return fmt::format("{}", fmt::join(values, ", "));
}

// " · 1 thread" and " · 2 threads"; nothing for an empty value.
std::string counted(const std::string& value, const char* noun, const char* separator = " · ") {
    return value.empty()
               ? ""
               : fmt::format("{}{} {}{}", separator, value, noun, value == "1" ? "" : "s");
}

std::string labelled(const char* format, const std::string& value) {
    return value.empty() ? "" : " · " + fmt::format(fmt::runtime(format), value);
}

std::string head_line(std::span<const ReadRow> rows) {
    return fmt::format("{} query heads, {} KV heads, head_dim {}",
                       distinct(rows, &ReadRow::num_q_heads),
                       distinct(rows, &ReadRow::num_kv_heads), distinct(rows, &ReadRow::head_dim));
}

bool ties_everywhere(const ReadCurve& curve) {
    return std::all_of(curve.points.begin(), curve.points.end(), [](const auto& point) {
        return !point.speedup || point.outcome == Outcome::kNoDifference;
    });
}

}  // namespace

std::string finding(const PagedReadFacts& facts) {
    const ReadCurve& first = facts.reads.front();
    const std::optional<std::size_t> rival = challenger(facts);
    if (!rival) {
        return fmt::format("One {} read costs {}", first.read, cost_span(first));
    }
    const ReadCurve& other = facts.reads[*rival];
    const CostAtHistory& shared = *other.longest_shared();
    const double speedup = *shared.speedup;
    // Without a place, the comparison is about the history that was named last.
    const auto place = [&](const ReadCurve& subject) {
        return subject.longest().seq_len == shared.seq_len ? ""
                                                           : fmt::format(" at {}", shared.seq_len);
    };
    switch (*shared.outcome) {
        case Outcome::kFaster:
            return fmt::format("One {} read costs {},{} {} times as fast as {}", other.read,
                               cost_span(other), place(other), ratio_text(speedup), first.read);
        case Outcome::kSlower:
            return fmt::format("One {} read costs {}; {} takes {} times as long{}", first.read,
                               cost_span(first), other.read, ratio_text(1 / speedup), place(first));
        case Outcome::kNoDifference:
            break;
    }
    return fmt::format("One read costs {}; {} and {} tie{}", cost_span(first), first.read,
                       other.read,
                       ties_everywhere(other) ? "" : fmt::format(" at {}", shared.seq_len));
}

std::string shape_line(std::span<const ReadRow> rows) {
    return head_line(rows) + counted(distinct(rows, &ReadRow::num_seqs), "sequence") +
           labelled("block_size {}", distinct(rows, &ReadRow::block_size)) +
           labelled("{}", distinct(rows, &ReadRow::layout)) +
           labelled("{}", distinct(rows, &ReadRow::dtype)) +
           counted(distinct(rows, &ReadRow::threads), "thread") +
           labelled("{} cache", distinct(rows, &ReadRow::cache));
}

std::string device_line(std::span<const ReadRow> cpu, std::span<const ReadRow> gpu) {
    const std::string gpu_dtype = distinct(gpu, &ReadRow::dtype);
    const std::string gpu_cache = distinct(gpu, &ReadRow::cache);
    const std::string head =
        head_line(gpu) + labelled("block_size {}", distinct(gpu, &ReadRow::block_size));
    if (cpu.empty()) {
        return head + " · GPU: " + gpu_dtype + ", " + gpu_cache;
    }
    const std::string cpu_dtype = distinct(cpu, &ReadRow::dtype);
    const bool is_half = cpu_dtype == "fp32" && (gpu_dtype == "bf16" || gpu_dtype == "fp16");
    return head + " · CPU: " + cpu_dtype +
           counted(distinct(cpu, &ReadRow::threads), "thread", ", ") + ", " +
           distinct(cpu, &ReadRow::cache) + " · GPU: " + gpu_dtype +
           (is_half ? ", half the bytes, " : ", ") + gpu_cache;
}

}  // namespace nanoserve::report
