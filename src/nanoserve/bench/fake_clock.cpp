// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <nanoserve/bench/fake_clock.hpp>

#include <stdexcept>
#include <string>
#include <utility>

namespace nanoserve {

FakeClock::FakeClock(std::initializer_list<double> intervals_ns) : intervals_ns_(intervals_ns) {}

FakeClock::FakeClock(std::vector<double> intervals_ns) : intervals_ns_(std::move(intervals_ns)) {}

Nanoseconds FakeClock::now() {
    const std::size_t interval_idx = num_readings_ / 2;
    if (interval_idx >= intervals_ns_.size()) {
        throw std::out_of_range("FakeClock: all " + std::to_string(intervals_ns_.size()) +
                                " intervals of the script are used; the code under test takes more "
                                "samples than the script has");
    }
    const bool is_end = num_readings_ % 2 == 1;
    ++num_readings_;
    return Nanoseconds(is_end ? intervals_ns_[interval_idx] : 0);  // any other origin would round
}

}  // namespace nanoserve
