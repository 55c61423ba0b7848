// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// A clock that only the reads move: what a simulated read costs is what it adds.
#pragma once

#include <nanoserve/bench/clock.hpp>

#include <cstddef>

namespace nanoserve::test {

class SimulatedClock {
  public:
    Nanoseconds now() {
        ++num_readings_;
        return time_;
    }

    void advance(double ns) { time_ += Nanoseconds(ns); }
    std::size_t num_readings() const { return num_readings_; }

  private:
    Nanoseconds time_{12345};  // an origin that means nothing
    std::size_t num_readings_ = 0;
};
static_assert(Clock<SimulatedClock>);

}  // namespace nanoserve::test
