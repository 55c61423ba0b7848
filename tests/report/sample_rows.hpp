// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// Made-up rows for the tests of this room.
#pragma once

#include <nanoserve/report/read_row.hpp>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace nanoserve::report::testing {

/// A row with all keys set and no measurement but the best.
inline ReadRow sample_row(std::string read, std::int64_t seq_len, double best_us,
                          std::string verdict = "") {
    ReadRow row;
    row.machine = "AMD EPYC, 2 CPUs";
    row.read = std::move(read);
    row.dtype = "fp32";
    row.threads = 1;
    row.cache = "warm";
    row.num_q_heads = 32;
    row.num_kv_heads = 8;
    row.head_dim = 64;
    row.num_seqs = 1;
    row.seq_len = seq_len;
    row.pattern = "uniform";
    row.block_size = 16;
    row.layout = "NHD";
    row.best_us = best_us;
    row.verdict = std::move(verdict);
    return row;
}

/// A row in which every column has a value.
inline ReadRow full_row() {
    ReadRow row = sample_row("fused", 4096, 1500.25, "faster");
    row.mean_us = 1600.125;
    row.median_us = 1.0 / 3.0;
    row.lo_us = 1550;
    row.hi_us = 1e-7;
    row.floor_us = 300;
    row.predicted_us = 123456.789;
    row.gb_per_s = 11.2;
    row.rel_err = 3.2e-7;
    row.speedup = 1.27;
    return row;
}

/// Rows of one read on the histories 16, 64, 256, ...
inline void append_read(std::vector<ReadRow>& rows, const std::string& read,
                        const std::vector<double>& best_us, const std::string& verdict = "") {
    std::int64_t seq_len = 16;
    for (const double best : best_us) {
        rows.push_back(sample_row(read, seq_len, best, verdict));
        seq_len *= 4;
    }
}

}  // namespace nanoserve::report::testing
