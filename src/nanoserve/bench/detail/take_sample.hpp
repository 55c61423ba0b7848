// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// The steps that time_read and compare_reads share: run a hook, warm up, take one sample.
#pragma once

#include <nanoserve/bench/clock.hpp>
#include <nanoserve/bench/timing_options.hpp>

#include <atomic>
#include <cstddef>
#include <functional>

namespace nanoserve::detail {

inline void run_if_set(const std::function<void()>& hook) {
    if (hook) {
        hook();
    }
}

// The fence costs no instruction. It keeps the compiler from merging calls of an inlined read, or
// from moving one past a reading of the clock.
template <class Read>
void call_once(Read& read) {
    static_cast<void>(std::invoke(read));
    std::atomic_signal_fence(std::memory_order_seq_cst);
}

template <class Read>
void warm_up(Read& read, const TimingOptions& options) {
    run_if_set(options.before_sample);
    call_once(read);
}

/// One sample: k calls between two readings of the clock. Returns their difference in nanoseconds,
/// as the clock gave it; judging it is left to ReadTiming.
template <Clock C, class Read>
[[nodiscard]] double take_sample(C& clock, Read& read, const TimingOptions& options) {
    run_if_set(options.before_sample);
    for (std::size_t call = 0; call < options.settle_calls; ++call) {
        call_once(read);
    }
    const auto begin = clock.now();
    for (std::size_t call = 0; call < options.calls_per_sample; ++call) {
        call_once(read);
    }
    const auto end = clock.now();
    return Nanoseconds(end - begin).count();
}

}  // namespace nanoserve::detail
