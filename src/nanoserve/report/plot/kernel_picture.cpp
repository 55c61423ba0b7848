// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <nanoserve/report/number_text.hpp>
#include <nanoserve/report/plot/kernel_picture.hpp>
#include <nanoserve/report/plot/paged_read_finding.hpp>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <stdexcept>

namespace nanoserve::report {
namespace {

constexpr PixelBox kBoxes[] = {{134, 606, 170, 744}, {928, 1400, 170, 744}};

std::string sequences(std::int64_t num_seqs) {
    return fmt::format("{} sequence{}", num_seqs, num_seqs == 1 ? "" : "s");
}

void require_cpu(const KernelRows& rows) {
    const bool is_there =
        rows.cpu.empty() || std::ranges::any_of(rows.num_seqs, [&](std::int64_t num_seqs) {
            return !rows_of(rows.cpu, rows.shape, num_seqs).empty();
        });
    if (!is_there) {
        throw std::invalid_argument(fmt::format(
            "no CPU row for {}/{}/{} and {} sequences", rows.shape.num_q_heads,
            rows.shape.num_kv_heads, rows.shape.head_dim, fmt::join(rows.num_seqs, " or ")));
    }
}

std::string title_of(const KernelPicture& picture, const std::vector<std::int64_t>& num_seqs) {
    const auto limit_of = [&](std::size_t chart) {
        const auto& curves = picture.charts[chart].curves;
        return times_limit(curves, curves.back().name, kKernelCeilingName);
    };
    const std::string& kernel = picture.charts[0].curves.back().name;
    const TimesLimit first = limit_of(0);
    std::string title = fmt::format("At {} tokens {} takes {} times as long as its ceiling with {}",
                                    first.seq_len, kernel == "GPU kernel" ? "the kernel" : kernel,
                                    ratio_text(first.times), sequences(num_seqs[0]));
    for (std::size_t i = 1; i < num_seqs.size(); ++i) {
        const TimesLimit limit = limit_of(i);
        title += fmt::format(", {} times with {}", ratio_text(limit.times), num_seqs[i]);
        if (limit.seq_len != first.seq_len) {
            title += fmt::format(" at {}", limit.seq_len);
        }
    }
    return title;
}

}  // namespace

KernelPicture kernel_picture(const KernelRows& rows, const std::vector<std::string>& sources) {
    if (rows.num_seqs.empty() || rows.num_seqs.size() > std::size(kBoxes)) {
        throw std::invalid_argument(
            fmt::format("a picture has 1 or 2 batches, not {}", rows.num_seqs.size()));
    }
    require_cpu(rows);
    std::vector<std::vector<NamedCurve>> batches;
    std::vector<NamedCurve> all;
    for (const std::int64_t num_seqs : rows.num_seqs) {
        batches.push_back(kernel_curves(rows, num_seqs));
        all.insert(all.end(), batches.back().begin(), batches.back().end());
    }
    KernelPicture picture;
    for (std::size_t i = 0; i < batches.size(); ++i) {
        picture.charts.push_back(
            kernel_chart(batches[i], rows.baseline, rows.num_seqs[i], kBoxes[i], all));
    }
    picture.heading.title = title_of(picture, rows.num_seqs);
    picture.heading.subtitle =
        device_line(rows_of(rows.cpu, rows.shape, 0), rows_of(rows.gpu, rows.shape, 0));
    picture.heading.foot = sources;
    return picture;
}

}  // namespace nanoserve::report
