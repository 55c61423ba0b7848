// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// time_read: how long does one read take?
#pragma once

#include <nanoserve/bench/clock.hpp>
#include <nanoserve/bench/detail/take_sample.hpp>
#include <nanoserve/bench/read_timing.hpp>
#include <nanoserve/bench/timing_options.hpp>

#include <concepts>
#include <cstddef>
#include <vector>

namespace nanoserve {

/// Times `read` with `clock` and returns all samples.
///
/// In this order: check, warm-up calls, samples, check. Only the samples touch the clock, twice
/// each. `read` must leave nothing behind that makes its next call dearer: a read over a cache that
/// was written beforehand is fine, a write that grows the cache is not. Its result should end in
/// memory that outlives the call, or the compiler may drop the work.
///
/// Throws std::invalid_argument for options that ask for no sample; what `read`, the clock and the
/// hooks throw passes through.
//! [time_read]
template <Clock C, std::invocable Read>
[[nodiscard]] ReadTiming time_read(C& clock, Read&& read, const TimingOptions& options = {}) {
    require_valid(options);
    detail::run_if_set(options.check);
    for (std::size_t call = 0; call < options.num_warmup; ++call) {
        detail::warm_up(read, options);
    }
    std::vector<double> intervals_ns;
    while (needs_another_sample(options, intervals_ns)) {
        intervals_ns.push_back(detail::take_sample(clock, read, options));
    }
    detail::run_if_set(options.check);
    return ReadTiming(intervals_ns, options.calls_per_sample);
}
//! [time_read]

}  // namespace nanoserve
