// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// One line of a result file: which read, on which point, and what was measured there.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>

namespace nanoserve::report {

/// The keys come first, then the measurements. A value that nobody measured is absent, never zero.
/// All times are microseconds for one read.
struct ReadRow {
    std::string machine;                  ///< as `machine_name` gives it
    std::string read;                     ///< "gather", "fused", "read_floor", ...
    std::string dtype;                    ///< "fp32", "bf16", ...
    std::optional<std::int64_t> threads;  ///< CPU threads; absent for a GPU
    std::string cache;                    ///< "warm" or "cold"; see cache_state()
    std::int64_t num_q_heads = 0;         ///< query heads
    std::int64_t num_kv_heads = 0;        ///< heads of K and V
    std::int64_t head_dim = 0;            ///< elements of one head
    std::int64_t num_seqs = 0;            ///< sequences in the batch
    std::int64_t seq_len = 0;             ///< cached tokens of one sequence (the mean when ragged)
    std::string pattern;                  ///< "uniform", "ragged" or "skewed"
    std::optional<std::int64_t>
        block_size;                      ///< tokens of one KV block; absent for a contiguous read
    std::string layout;                  ///< "NHD", "HND", ...
    std::optional<double> best_us;       ///< the fastest sample: the headline
    std::optional<double> mean_us;       ///< mean of the samples
    std::optional<double> median_us;     ///< median of the samples
    std::optional<double> lo_us;         ///< lower end of the interval that is drawn
    std::optional<double> hi_us;         ///< upper end of it
    std::optional<double> floor_us;      ///< the read floor on the same point
    std::optional<double> predicted_us;  ///< what the model foretold
    std::optional<double> gb_per_s;  ///< bytes of K and V over `best_us`, in 10^9 bytes per second
    std::optional<double> rel_err;   ///< largest relative error against the oracle
    std::optional<double> speedup;   ///< baseline's best / this read's best
    std::string verdict;             ///< "faster", "slower", "no difference", or empty

    bool operator==(const ReadRow&) const = default;
};

/// One column: its name in the header, and the member behind it. Reader and writer both walk this
/// table.
struct ReadRowColumn {
    std::string_view name;
    std::variant<std::string ReadRow::*, std::int64_t ReadRow::*,
                 std::optional<std::int64_t> ReadRow::*, std::optional<double> ReadRow::*>
        member;
};

/// The columns, in the order of the file.
[[nodiscard]] std::span<const ReadRowColumn> read_row_columns();

/// The column `cache` of GPU reads that go through so many bytes of layers in turn: "cold" from 4
/// times the second-level cache on, else "warm". If it replaces at random, a share h of a layer is
/// still there when its turn comes again, h = exp(-4 (1 - h)), which is 2 %.
[[nodiscard]] std::string_view cache_state(double rotated_bytes, double l2_bytes);

}  // namespace nanoserve::report
