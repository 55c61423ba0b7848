// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/simulated_clock.hpp"

#include <nanoserve/bench/time_in_turn.hpp>

#include <catch2/catch_test_macros.hpp>

#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

namespace nanoserve {
namespace {

using Intervals = std::vector<std::vector<double>>;

TEST_CASE("time_in_turn takes a sample of each read in every round, there and back",
          "[bench][pure]") {
    test::SimulatedClock clock;
    std::string log;
    std::vector<std::function<void()>> reads;
    for (const char name : {'a', 'b', 'c'}) {
        reads.emplace_back([&clock, &log, name] {
            log += name;
            clock.advance(name - 'a' + 1);
        });
    }
    const Intervals intervals =
        time_in_turn(clock, std::span(reads), {.num_samples = 3, .num_warmup = 1});
    CHECK(log ==
          "abc"
          "abc"
          "cba"
          "abc");
    CHECK(intervals == Intervals{{1, 1, 1}, {2, 2, 2}, {3, 3, 3}});
}

TEST_CASE("time_in_turn runs settle calls of the same read, untimed", "[bench][pure]") {
    test::SimulatedClock clock;
    std::string log;
    std::vector<std::function<void()>> reads;
    for (const char name : {'a', 'b'}) {
        reads.emplace_back([&clock, &log, name] {
            log += name;
            clock.advance(10);
        });
    }
    const Intervals intervals = time_in_turn(
        clock, std::span(reads), {.num_samples = 2, .num_warmup = 0, .settle_calls = 1});
    CHECK(log ==
          "aabb"
          "bbaa");
    CHECK(intervals == Intervals{{10, 10}, {10, 10}});
}

TEST_CASE("time_in_turn checks before the first sample and after the last", "[bench][pure]") {
    test::SimulatedClock clock;
    std::string log;
    std::vector<std::function<void()>> reads = {[&] { log += 'r'; }};
    (void)time_in_turn(clock, std::span(reads),
                       {.num_samples = 2, .num_warmup = 1, .check = [&] { log += '!'; }});
    CHECK(log == "!rrr!");
}

TEST_CASE("time_in_turn takes no stop rule, which would be one read's", "[bench][pure]") {
    test::SimulatedClock clock;
    std::vector<std::function<void()>> reads = {[] {}};
    CHECK_THROWS_AS(time_in_turn(clock, std::span(reads), {.stop_rule = StopRule{}}),
                    std::invalid_argument);
    CHECK_THROWS_AS(time_in_turn(clock, std::span(reads), {.num_samples = 0}),
                    std::invalid_argument);
}

}  // namespace
}  // namespace nanoserve
