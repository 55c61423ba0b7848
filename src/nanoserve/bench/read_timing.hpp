// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// The samples of one read and what they say about its cost.
#pragma once

#include <nanoserve/bench/statistics.hpp>

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace nanoserve {

/// Whether an interval can be a sample: finite and not below zero.
[[nodiscard]] bool is_usable(double interval_ns);

/// The timing of one read: its samples, and statistics in nanoseconds per call.
///
/// The best is the headline: on a shared machine interference only ever adds time, so the fastest
/// sample is the one that was disturbed least. Mean, median and spread show how noisy the rest was.
///
/// A clock can misbehave in three ways, and none of them yields an inf or a NaN here:
/// - it goes back (interval < 0), or its difference is not finite: the sample is dropped and
/// counted;
/// - it does not advance (interval = 0): the sample stays, `clock_too_coarse()` says so and there
/// is
///   no best, since a ratio to zero means nothing. Remedy: more calls per sample.
/// A statistic that is not available, or would not be above zero, is an empty optional.
class ReadTiming {
  public:
    /// No samples, hence no statistics.
    ReadTiming() = default;

    /// `intervals_ns` are clock differences, each over `calls_per_sample` calls of the read.
    /// Throws std::invalid_argument when `calls_per_sample` is 0.
    explicit ReadTiming(std::span<const double> intervals_ns, std::size_t calls_per_sample = 1);

    /// The usable intervals in the order in which they were taken, in nanoseconds per *sample*.
    [[nodiscard]] const std::vector<double>& samples_ns() const noexcept { return samples_ns_; }
    /// Calls of the read in each sample.
    [[nodiscard]] std::size_t calls_per_sample() const noexcept { return calls_per_sample_; }

    /// Samples dropped because the clock went back.
    [[nodiscard]] std::size_t num_backward() const noexcept { return num_backward_; }
    /// Samples dropped because the difference was not finite.
    [[nodiscard]] std::size_t num_not_finite() const noexcept { return num_not_finite_; }
    /// Whether a sample is zero: take more calls per sample.
    [[nodiscard]] bool clock_too_coarse() const;

    /// The fastest sample.
    [[nodiscard]] std::optional<double> best_ns() const;
    /// The arithmetic mean.
    [[nodiscard]] std::optional<double> mean_ns() const;
    /// The middle sample.
    [[nodiscard]] std::optional<double> median_ns() const;
    /// The 5th percentile (nearest rank).
    [[nodiscard]] std::optional<double> low_ns() const;
    /// The 95th percentile (nearest rank).
    [[nodiscard]] std::optional<double> high_ns() const;

    /// (high - low) / median: 0.1 means that nine samples out of ten lie within 10 %.
    [[nodiscard]] std::optional<double> spread() const;
    /// Half the width of the 95 % interval of the median, over the median. Needs 6 samples.
    [[nodiscard]] std::optional<double> relative_error() const;

  private:
    [[nodiscard]] std::optional<double> per_call(std::optional<double> sample_ns) const;

    std::vector<double> samples_ns_;
    std::size_t calls_per_sample_ = 1;
    std::size_t num_backward_ = 0;
    std::size_t num_not_finite_ = 0;
};

}  // namespace nanoserve
