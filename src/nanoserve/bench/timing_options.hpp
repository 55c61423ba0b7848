// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// How many samples to take, what to run around them, and when to stop.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>

namespace nanoserve {

/// Stop as soon as `ReadTiming::relative_error()` is at most `relative_error`, but not before
/// `min_samples` and at the latest after `max_samples`. For exploring only: a run that stops when
/// its numbers please is biased towards them, so a comparison that used a rule gives no verdict.
/// Every sample sorts those before it anew, so what the rule costs grows with their square: it is
/// for hundreds of samples, not for tens of thousands.
struct StopRule {
    double relative_error = 0.01;   ///< above 0
    std::size_t min_samples = 10;   ///< at least so many
    std::size_t max_samples = 400;  ///< at most so many
};

/// What `time_read` and `compare_reads` do besides calling the clock and the reads.
struct TimingOptions {
    /// Samples per read, fixed beforehand. A `stop_rule` takes its place: then it may be 0.
    std::size_t num_samples = 400;
    /// Untimed calls of each read before the first sample.
    std::size_t num_warmup = 10;
    /// Calls of the read between two readings of the clock.
    std::size_t calls_per_sample = 1;
    /// Untimed calls of the same read right before each sample: it then finds the processor's
    /// caches as it leaves them itself, not as its rival in a comparison does. For warm reads.
    std::size_t settle_calls = 0;
    /// Runs untimed before each sample and each warm-up call: flush a cache, rotate buffers.
    std::function<void()> before_sample = {};
    /// Runs untimed before the first sample and after the last; throws when the outputs differ.
    std::function<void()> check = {};
    /// Ends the run early; empty: num_samples decides.
    std::optional<StopRule> stop_rule = {};
};

/// Throws std::invalid_argument, naming the value and its limit, unless at least one sample of at
/// least one call will be taken and the stop rule, if any, can be met.
void require_valid(const TimingOptions& options);

/// Whether the fixed number, or the stop rule, asks for another sample after `intervals_ns`.
[[nodiscard]] bool needs_another_sample(const TimingOptions& options,
                                        std::span<const double> intervals_ns);

}  // namespace nanoserve
