// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// A clock that follows a script, so that every branch of the harness is proven without waiting.
#pragma once

#include <nanoserve/bench/clock.hpp>

#include <cstddef>
#include <initializer_list>
#include <vector>

namespace nanoserve {

/// Plays back a list of intervals: readings 0 and 1 lie `intervals_ns[0]` apart, readings 2 and 3
/// lie `intervals_ns[1]` apart, and so on. One interval is one sample of the harness.
///
/// An interval may be zero, negative or NaN, as those of a broken clock are, and comes out to the
/// bit: each one starts at 0 anew, so only the difference of a begin and its own end makes sense.
class FakeClock {
  public:
    /// The intervals in nanoseconds, in the order in which they will be measured.
    FakeClock(std::initializer_list<double> intervals_ns);
    /// The same, from a list made beforehand.
    explicit FakeClock(std::vector<double> intervals_ns);

    /// The next reading. Throws std::out_of_range once the script is over.
    [[nodiscard]] Nanoseconds now();

    /// How often `now()` has answered: twice the number of samples that were taken.
    [[nodiscard]] std::size_t num_readings() const noexcept { return num_readings_; }

  private:
    std::vector<double> intervals_ns_;
    std::size_t num_readings_ = 0;
};
static_assert(Clock<FakeClock>);

}  // namespace nanoserve
