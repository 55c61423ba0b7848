// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// What the paired samples of two reads say: how much faster, and whether that is more than noise.
#pragma once

#include <nanoserve/bench/read_timing.hpp>
#include <nanoserve/bench/statistics.hpp>

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace nanoserve {

/// What may be claimed about the candidate. `none` means that nothing may.
enum class Verdict {
    none,           ///< nothing may be claimed
    faster,         ///< the interval of the ratio lies above 1
    slower,         ///< it lies below 1
    no_difference,  ///< it holds 1
};

/// "faster", "slower", "no difference"; "" for none.
[[nodiscard]] std::string_view to_string(Verdict verdict);

/// One sample of each read, taken back to back, in nanoseconds per sample.
struct SamplePair {
    double baseline_ns = 0;   ///< of the read to compare with
    double candidate_ns = 0;  ///< of the read in question
};

/// Whether the number of samples was fixed beforehand or decided by a StopRule on the way.
enum class SampleCount {
    fixed,         ///< beforehand: a verdict is possible
    by_stop_rule,  ///< on the way: the numbers had a say in it, so there is no verdict
};

/// Two timings whose samples were taken in pairs.
///
/// The headline is `speedup()`, from the two bests. The verdict comes from the pairs instead: what
/// disturbs the machine for longer than a pair disturbs both halves, and cancels in their ratio.
struct ReadComparison {
    /// No samples: no speedup, no verdict.
    ReadComparison() = default;

    /// Interval i of each list belongs to pair i. Throws std::invalid_argument when the lists
    /// differ in length or `calls_per_sample` is 0.
    ReadComparison(std::span<const double> baseline_ns, std::span<const double> candidate_ns,
                   std::size_t calls_per_sample, SampleCount count = SampleCount::fixed);

    /// Each read on its own. Here an interval counts even when the other half of its pair is bad.
    ReadTiming baseline;
    ReadTiming candidate;  ///< the other read
    /// The pairs of which both halves are usable, in the order in which they were taken.
    std::vector<SamplePair> pairs;
    std::size_t num_dropped_pairs = 0;              ///< pairs with an unusable half
    SampleCount sample_count = SampleCount::fixed;  ///< who decided how many there are

    /// Whether a sample of either read is zero. Then there is no speedup, no ratio and no verdict;
    /// the remedy is more calls per sample.
    [[nodiscard]] bool clock_too_coarse() const;

    /// Baseline best over candidate best: 4 means that the candidate takes a quarter of the time.
    [[nodiscard]] std::optional<double> speedup() const;
    /// The median of the paired ratios baseline / candidate, taken on logarithms.
    [[nodiscard]] std::optional<double> median_ratio() const;
    /// Its 95 % order-statistic interval. Empty when fewer than 6 pairs are usable.
    [[nodiscard]] std::optional<Interval> ratio_interval() const;

    /// Faster or slower when the interval excludes 1, no difference when it holds 1; none without
    /// an interval, and after a stop rule.
    [[nodiscard]] Verdict verdict() const;
};

/// One line for people, such as "speedup 0.25, slower (95 % interval 0.24 to 0.26)". Ratios have
/// two decimals, and more where it takes more to tell them from 1 and 0: "1.003". Without a speedup
/// the line says why.
[[nodiscard]] std::string describe(const ReadComparison& comparison);

}  // namespace nanoserve
