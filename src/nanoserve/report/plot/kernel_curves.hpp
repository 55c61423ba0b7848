// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// A kernel among its neighbours: which rows of the CPU's and the GPU's file make which curve.
#pragma once

#include <nanoserve/model/attention_shape.hpp>
#include <nanoserve/report/plot/paged_read_facts.hpp>
#include <nanoserve/report/plot/picture_style.hpp>
#include <nanoserve/report/read_row.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace nanoserve::report {

/// The rows to draw from. Rows of other shapes and batches may be among them.
struct KernelRows {
    std::vector<ReadRow> cpu;              ///< gather, fused, streaming, read_floor; or empty
    std::vector<ReadRow> gpu;              ///< the kernel, its baseline, load_only_nhd, read_stream
    AttentionShape shape;                  ///< the one that is drawn
    std::vector<std::int64_t> num_seqs;    ///< sequences in a batch: a chart for each
    std::string kernel = "kernel";         ///< the GPU's read that the picture is about
    std::string baseline = "gather";       ///< the one that it is held against; empty: none
    std::vector<std::string> others = {};  ///< further ones, drawn thin
};

/// One read on one device, over all its histories.
struct NamedCurve {
    std::string name;  ///< "GPU kernel"
    CurveStyle style;
    std::vector<CostAtHistory> points;  ///< shortest history first; never empty
};

inline constexpr const char* kKernelCeilingName = "GPU load-only";

/// What a read of the GPU is called in a picture: "split kv" for split_kv, and "GPU gather" and
/// "GPU kernel" for the reads that a CPU has as well.
[[nodiscard]] std::string gpu_read_name(std::string_view read);

/// The curves of one batch, limits first and the kernel last, in the order in which they are drawn.
/// The CPU's are among them where it read as many sequences. Throws `std::invalid_argument` naming
/// the read, the shape and the batch of a curve that has no row.
[[nodiscard]] std::vector<NamedCurve> kernel_curves(const KernelRows& rows, std::int64_t num_seqs);

/// The rows of one shape and, unless 0, one batch.
[[nodiscard]] std::vector<ReadRow> rows_of(std::span<const ReadRow> rows,
                                           const AttentionShape& shape, std::int64_t num_seqs);

/// A read and what it is held against, both on the same history.
struct TimesLimit {
    std::int64_t seq_len = 0;
    double times = 0;  ///< time of the read over time of its limit
};

/// At the longest history that the two curves share. Throws `std::invalid_argument` when there is
/// none, or when one of the curves is missing.
[[nodiscard]] TimesLimit times_limit(std::span<const NamedCurve> curves, std::string_view name,
                                     std::string_view limit);

}  // namespace nanoserve::report
