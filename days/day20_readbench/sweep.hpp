// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// The measurement of Day 20: the reads and the read floor at one length of history.
#pragma once

#include "options.hpp"

#include <nanoserve/attention/read_floor.hpp>
#include <nanoserve/attention/synthetic_history.hpp>
#include <nanoserve/bench/read_comparison.hpp>
#include <nanoserve/bench/read_timing.hpp>
#include <nanoserve/bench/timing_options.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace nanoserve::day20 {

/// One read at one length of history.
struct MeasuredRead {
    std::string name;
    ReadTiming timing;
    std::optional<ReadComparison>
        comparison;      ///< with the first read as the baseline; none for the first
    double error = 0.0;  ///< relative to the float64 oracle
    std::optional<double> benchmark_us = {};  ///< Google Benchmark's mean of the same closure
};

/// What was measured at one length of history.
struct SweepPoint {
    std::int64_t seq_len = 0;
    std::int64_t kv_bytes = 0;  ///< that any read has to load
    std::vector<MeasuredRead> reads;
    ReadTiming floor;  ///< of the fastest of the three orders
};

/// The history that a point of the sweep reads: one, or a cold pool full of them.
[[nodiscard]] SyntheticHistory make_history(const Options& options, std::int64_t seq_len,
                                            std::uint32_t seed);

/// How the reads of that history are timed: rotated when cold, settled when warm.
[[nodiscard]] TimingOptions make_timing_options(const Options& options, SyntheticHistory& history);

/// Prefills a cache once, checks that all reads give the oracle's numbers and gather and fused the
/// same bits, times the floor and the reads, each against the first, and checks again.
/// @throws std::runtime_error when the reads differ, are off, or a read is faster than its floor
[[nodiscard]] SweepPoint measure(const Options& options, std::int64_t seq_len);

}  // namespace nanoserve::day20
