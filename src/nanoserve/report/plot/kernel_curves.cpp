// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <nanoserve/report/plot/kernel_curves.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <stdexcept>

namespace nanoserve::report {
namespace {

struct DrawnRead {
    bool is_gpu;
    std::string read;  // as in the column
    std::string name;
    CurveStyle style;
};

// The CPU's reads look as in the pictures of Day 20.
std::vector<DrawnRead> drawn_reads(const KernelRows& rows) {
    std::vector<DrawnRead> drawn = {
        {false, "read_floor", "CPU read floor", {kFloorColour, 7, 0.5, "(4,3)", 1.5}},
        {true, "read_stream", "GPU read stream", {kInk, 7, 0.4, "(1,3)", 1.5}},
        {true, "load_only_nhd", kKernelCeilingName, {kInk, 7, 0.6, "(6,3)", 1.7}},
        {false, "gather", "CPU gather", kCurveStyles[0]},
        {false, "fused", "CPU fused", kCurveStyles[1]},
        {false, "streaming", "CPU streaming", kCurveStyles[2]}};
    for (const std::string& read : rows.others) {
        drawn.push_back({true, read, gpu_read_name(read), {kMuted, 7, 0.5, "solid", 1.2}});
    }
    if (!rows.baseline.empty()) {
        drawn.push_back({true, rows.baseline, gpu_read_name(rows.baseline), kCurveStyles[4]});
    }
    drawn.push_back(
        {true, rows.kernel, gpu_read_name(rows.kernel), {"#7048b6", 9, 1.6, "solid", 3.2}});
    return drawn;
}

NamedCurve make_curve(const DrawnRead& drawn, std::span<const ReadRow> rows,
                      const AttentionShape& shape, std::int64_t num_seqs) {
    NamedCurve curve{drawn.name, drawn.style, cost_points(rows, drawn.read)};
    if (curve.points.empty()) {
        throw std::invalid_argument(
            fmt::format("no {} row of the read \"{}\" for {}/{}/{}, {} sequence{}",
                        drawn.is_gpu ? "GPU" : "CPU", drawn.read, shape.num_q_heads,
                        shape.num_kv_heads, shape.head_dim, num_seqs, num_seqs == 1 ? "" : "s"));
    }
    return curve;
}

const NamedCurve& find_curve(std::span<const NamedCurve> curves, std::string_view name) {
    const auto found = std::ranges::find(curves, name, &NamedCurve::name);
    if (found == curves.end()) {
        throw std::invalid_argument(fmt::format("there is no curve \"{}\"", name));
    }
    return *found;
}

}  // namespace

std::string gpu_read_name(std::string_view read) {
    if (read == "kernel" || read == "gather") {
        return "GPU " + std::string(read);
    }
    std::string name(read);
    std::ranges::replace(name, '_', ' ');
    return name;
}

std::vector<ReadRow> rows_of(std::span<const ReadRow> rows, const AttentionShape& shape,
                             std::int64_t num_seqs) {
    std::vector<ReadRow> chosen;
    std::ranges::copy_if(rows, std::back_inserter(chosen), [&](const ReadRow& row) {
        return row.num_q_heads == shape.num_q_heads && row.num_kv_heads == shape.num_kv_heads &&
               row.head_dim == shape.head_dim && (num_seqs == 0 || row.num_seqs == num_seqs);
    });
    return chosen;
}

std::vector<NamedCurve> kernel_curves(const KernelRows& rows, std::int64_t num_seqs) {
    const std::vector<ReadRow> cpu = rows_of(rows.cpu, rows.shape, num_seqs);
    const std::vector<ReadRow> gpu = rows_of(rows.gpu, rows.shape, num_seqs);
    std::vector<NamedCurve> curves;
    for (const DrawnRead& drawn : drawn_reads(rows)) {
        if (drawn.is_gpu || !cpu.empty()) {
            curves.push_back(make_curve(drawn, drawn.is_gpu ? gpu : cpu, rows.shape, num_seqs));
        }
    }
    return curves;
}

TimesLimit times_limit(std::span<const NamedCurve> curves, std::string_view name,
                       std::string_view limit) {
    const std::vector<CostAtHistory>& points = find_curve(curves, name).points;
    const std::vector<CostAtHistory>& limits = find_curve(curves, limit).points;
    for (auto point = points.rbegin(); point != points.rend(); ++point) {
        const auto same = std::ranges::find(limits, point->seq_len, &CostAtHistory::seq_len);
        if (same != limits.end()) {
            return {point->seq_len, point->best_us / same->best_us};
        }
    }
    throw std::invalid_argument(
        fmt::format("\"{}\" and \"{}\" have no history in common", name, limit));
}

}  // namespace nanoserve::report
