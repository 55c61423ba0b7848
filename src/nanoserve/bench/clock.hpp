// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// What readbench asks of a clock, and the clock for reads that run on the CPU.
#pragma once

#include <chrono>
#include <concepts>

namespace nanoserve {

/// The unit of every interval in readbench. Floating point, because a clock may resolve less than 1
/// ns.
using Nanoseconds = std::chrono::duration<double, std::nano>;

/// Anything with `now()`, if two of its results subtract to nanoseconds.
///
/// The harness takes two readings around the work, subtracts the first from the second before it
/// takes another, and does nothing else with them: a reading may be an opaque handle, such as an
/// event recorded on a CUDA stream, whose difference waits for the later event.
template <class C>
concept Clock = requires(C& clock) {
    { clock.now() - clock.now() } -> std::convertible_to<Nanoseconds>;
};

/// The monotonic clock of the machine. Its resolution is tens of nanoseconds on common systems;
/// raise `calls_per_sample` for a read that is not much longer.
struct SteadyClock {
    static_assert(std::chrono::steady_clock::is_steady, "a clock that is set back times nothing");

    /// A reading of std::chrono::steady_clock.
    [[nodiscard]] static std::chrono::steady_clock::time_point now() noexcept {
        return std::chrono::steady_clock::now();
    }
};
static_assert(Clock<SteadyClock>);

}  // namespace nanoserve
