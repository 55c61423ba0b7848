// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// The measurement of Day 20: both reads and the read floor at one length of history.
#pragma once

#include "options.hpp"

#include <nanoserve/attention/read_floor.hpp>
#include <nanoserve/attention/synthetic_history.hpp>
#include <nanoserve/bench/read_comparison.hpp>
#include <nanoserve/bench/read_timing.hpp>

#include <cstdint>

namespace nanoserve::day20 {

/// What was measured at one length of history.
struct SweepPoint {
    std::int64_t seq_len = 0;
    std::int64_t kv_bytes = 0;  ///< that any read has to load
    ReadComparison reads = {};  ///< baseline: gather; candidate: fused
    ReadTiming floor = {};      ///< of the fastest of the three orders
    FloorOrder floor_order = FloorOrder::keys_then_values;
    double gather_error = 0.0;  ///< relative to the float64 oracle
    double fused_error = 0.0;
    double gather_benchmark_us = 0.0;  ///< Google Benchmark's mean of the same closures
    double fused_benchmark_us = 0.0;
};

/// The history that a point of the sweep reads: one, or a cold pool full of them.
[[nodiscard]] SyntheticHistory make_history(const Options& options, std::int64_t seq_len,
                                            std::uint32_t seed);

/// Prefills a cache once, checks that both reads give the same bits and the oracle's numbers, times
/// them and the floor, and checks again.
/// @throws std::runtime_error when the reads differ, are off, or a read is faster than its floor
[[nodiscard]] SweepPoint measure(const Options& options, std::int64_t seq_len);

}  // namespace nanoserve::day20
