// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// What is known of an H200 before the days of the road measure anything: facts of an earlier study
// on another card, for the days' predictions; and what they foretell for the ceilings.
#pragma once

#include "read_cell.hpp"

#include <cstdint>

namespace nanoserve::gpu_bench {

/// An H200, as far as the predictions know it. Times are microseconds.
struct KnownGpu {
    int num_sms = 132;

    /// A load that misses L2 until its data can be used, and one that hits. The first is a guess
    /// from the load-only read of one page, the second about 270 cycles at 1.75 GHz.
    double dram_wait_us = 0.6;
    double l2_wait_us = 0.15;

    /// What one launch less would save, because results meet inside a cluster: merging 8 parts that
    /// were pushed, against a second launch behind the first.
    double push_merge_us = 0.6;
    double second_launch_us = 1.8;

    /// One kernel node of a replayed graph that does nothing, by its thread blocks.
    [[nodiscard]] double launch_us(std::int64_t num_thread_blocks) const;

    /// Bytes per us of rows that are read through a table, by their length, when 128 KB are in
    /// flight on each SM; and of one contiguous buffer.
    [[nodiscard]] double dram_bytes_per_us(std::int64_t row_bytes) const;
    [[nodiscard]] double stream_bytes_per_us() const { return 4.47e6; }
};

/// Bytes of one K row of one KV head.
[[nodiscard]] std::int64_t row_bytes(const ReadCell& cell);

/// All K and V rows of a cell at DRAM's rate.
[[nodiscard]] double dram_us(const KnownGpu& gpu, const ReadCell& cell);

/// The ceilings: a launch, then the length and the table in L2, the first row, and the bytes. The
/// contiguous one waits for no table.
[[nodiscard]] double predicted_load_only_us(const ReadCell& cell);
[[nodiscard]] double predicted_stream_us(const ReadCell& cell);

}  // namespace nanoserve::gpu_bench
