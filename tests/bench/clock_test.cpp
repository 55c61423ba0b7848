// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <nanoserve/bench/clock.hpp>
#include <nanoserve/bench/fake_clock.hpp>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <chrono>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>

namespace nanoserve {
namespace {

struct NotAClock {
    std::string now();
};
static_assert(Clock<std::chrono::steady_clock>, "a standard clock is a clock as it is");
static_assert(!Clock<NotAClock>, "two strings do not subtract");
static_assert(!Clock<int>);

double next_interval_ns(FakeClock& clock) {
    const auto begin = clock.now();
    const auto end = clock.now();
    return (end - begin).count();
}

TEST_CASE("SteadyClock never goes back", "[bench][pure]") {
    SteadyClock clock;
    const auto begin = clock.now();
    const auto end = clock.now();
    CHECK(Nanoseconds(end - begin).count() >= 0);
}

TEST_CASE("FakeClock plays its intervals in order, whatever they are", "[bench][pure]") {
    FakeClock clock{70, 0, -5, std::numeric_limits<double>::quiet_NaN(), 16e6};
    CHECK(next_interval_ns(clock) == 70);
    CHECK(next_interval_ns(clock) == 0);
    CHECK(next_interval_ns(clock) == -5);
    CHECK(std::isnan(next_interval_ns(clock)));
    CHECK(next_interval_ns(clock) == 16e6);
    CHECK(clock.num_readings() == 10);
}

TEST_CASE("FakeClock plays fractions of a nanosecond as they are written", "[bench][pure]") {
    FakeClock clock{0.1, 80.3, 1e-13, 5e-324, 1e300};
    for (const double interval_ns : {0.1, 80.3, 1e-13, 5e-324, 1e300}) {
        CHECK(next_interval_ns(clock) == interval_ns);
    }
}

TEST_CASE("FakeClock says so when the script is over", "[bench][pure]") {
    FakeClock clock{70, 10};
    next_interval_ns(clock);
    next_interval_ns(clock);
    CHECK_THROWS_MATCHES(clock.now(), std::out_of_range,
                         Catch::Matchers::MessageMatches(Catch::Matchers::ContainsSubstring(
                             "all 2 intervals of the script are used")));
    CHECK(clock.num_readings() == 4);
}

}  // namespace
}  // namespace nanoserve
