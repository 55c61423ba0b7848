// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/simulated_clock.hpp"

#include <nanoserve/bench/fake_clock.hpp>
#include <nanoserve/bench/time_read.hpp>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <chrono>
#include <cstddef>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

namespace nanoserve {
namespace {

using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::MessageMatches;

// Times a read of which nothing but its scripted intervals is known.
ReadTiming time_script(const std::vector<double>& intervals_ns) {
    FakeClock clock(intervals_ns);
    return time_read(clock, [] {}, {.num_samples = intervals_ns.size()});
}

TEST_CASE("time_read reports the fastest sample as the best", "[bench][pure]") {
    CHECK(time_script({70, 10, 40, 20}).best_ns() == 10);
    CHECK(time_script({1, 2, 3, 100}).best_ns() == 1);
    CHECK(time_script({7}).best_ns() == 7);
}

TEST_CASE("time_read reports the mean of the samples", "[bench][pure]") {
    CHECK(time_script({70, 10, 40, 20}).mean_ns() == 35);
    CHECK(time_script({1, 2, 3, 100}).mean_ns() == 26.5);
    CHECK(time_script({7}).mean_ns() == 7);
}

TEST_CASE("time_read reports the median of the samples", "[bench][pure]") {
    CHECK(time_script({70, 10, 40, 20}).median_ns() == 30);
    CHECK(time_script({1, 2, 3, 100}).median_ns() == 2.5);
    CHECK(time_script({7}).median_ns() == 7);
}

TEST_CASE("time_read reports the spread of the samples", "[bench][pure]") {
    const ReadTiming timing = time_script({70, 10, 40, 20});
    CHECK(timing.low_ns() == 10);
    CHECK(timing.high_ns() == 70);
    CHECK(timing.spread() == 2);
}

TEST_CASE("time_read keeps every sample, and reads the clock twice for each", "[bench][pure]") {
    FakeClock clock{70, 10, 40, 20};
    const ReadTiming timing = time_read(clock, [] {}, {.num_samples = 4});
    CHECK(timing.samples_ns() == std::vector<double>{70, 10, 40, 20});
    CHECK(clock.num_readings() == 8);
}

TEST_CASE("time_read neither counts nor times the warm-up", "[bench][pure]") {
    test::SimulatedClock clock;
    std::vector<std::size_t> readings_at_call;
    const auto read = [&] {
        readings_at_call.push_back(clock.num_readings());
        clock.advance(readings_at_call.size() <= 2 ? 1.0 : 50.0);  // the warm-up would be the best
    };
    const ReadTiming timing = time_read(clock, read, {.num_samples = 2, .num_warmup = 2});
    CHECK(timing.samples_ns() == std::vector<double>{50, 50});
    CHECK(readings_at_call == std::vector<std::size_t>{0, 0, 1, 3});
}

TEST_CASE("time_read calls the read k times in a sample", "[bench][pure]") {
    test::SimulatedClock clock;
    int num_calls = 0;
    const auto read = [&] {
        ++num_calls;
        clock.advance(20);
    };
    const TimingOptions options{.num_samples = 3, .num_warmup = 2, .calls_per_sample = 5};
    const ReadTiming timing = time_read(clock, read, options);
    CHECK(num_calls == 2 + 3 * 5);
    CHECK(timing.samples_ns() == std::vector<double>{100, 100, 100});
    CHECK(timing.best_ns() == 20);
}

// A clock that writes down when it is read, next to the hooks that do the same.
struct LoggingClock {
    std::string& log;
    Nanoseconds now() {
        log += 't';
        return Nanoseconds(0);
    }
};

TEST_CASE("time_read runs the hooks outside of the timed span", "[bench][pure]") {
    std::string log;
    LoggingClock clock{log};
    const TimingOptions options{.num_samples = 3,
                                .num_warmup = 2,
                                .calls_per_sample = 2,
                                .before_sample = [&] { log += 'b'; },
                                .check = [&] { log += 'c'; }};
    const auto read = [&] { log += 'r'; };
    (void)time_read(clock, read, options);
    // check, two warm-up calls, three samples of two calls between two readings, check
    CHECK(log ==
          "c"
          "br"
          "br"
          "btrrt"
          "btrrt"
          "btrrt"
          "c");
}

TEST_CASE("time_read stops at the first failing check", "[bench][pure]") {
    test::SimulatedClock clock;
    bool was_read = false;
    const TimingOptions options{.check = [] { throw std::runtime_error("outputs differ"); }};
    const auto read = [&] { was_read = true; };
    CHECK_THROWS_AS(time_read(clock, read, options), std::runtime_error);
    CHECK_FALSE(was_read);
}

TEST_CASE("time_read lets an exception of the read pass", "[bench][pure]") {
    test::SimulatedClock clock;
    const std::size_t num_warmup = GENERATE(0u, 1u);
    const auto read = [] { throw std::domain_error("bad block"); };
    CHECK_THROWS_AS(time_read(clock, read, {.num_warmup = num_warmup}), std::domain_error);
}

TEST_CASE("time_read gives a broken clock a defined answer", "[bench][pure]") {
    const ReadTiming timing = time_script({30, -5, std::numeric_limits<double>::quiet_NaN(), 10});
    CHECK(timing.samples_ns() == std::vector<double>{30, 10});
    CHECK(timing.num_backward() == 1);
    CHECK(timing.num_not_finite() == 1);
    CHECK(timing.best_ns() == 10);

    CHECK(time_script({0, 0, 16e6, 0}).clock_too_coarse());
    CHECK(time_script({0, 0, 16e6, 0}).best_ns() == std::nullopt);
}

TEST_CASE("time_read stops as soon as the stop rule is met", "[bench][pure]") {
    // Six samples span 100..106, an error of 3 / 103 = 2.9 %; the seventh keeps the whole range,
    // the eighth too; with nine the interval loses its two ends: (105 - 101) / 2 / 103 = 1.94 %.
    FakeClock clock{100, 101, 102, 104, 105, 106, 103, 103, 103, 103, 103};
    const TimingOptions options{
        .stop_rule = StopRule{.relative_error = 0.02, .min_samples = 2, .max_samples = 11}};
    const auto read = [] {};
    CHECK(time_read(clock, read, options).samples_ns().size() == 9);
}

TEST_CASE("a stop rule keeps to its minimum and its maximum", "[bench][pure]") {
    const StopRule rule{.relative_error = 0.01, .min_samples = 12, .max_samples = 20};
    test::SimulatedClock clock;
    const auto steady_read = [&] { clock.advance(10); };
    auto noisy_read = [&, cost = 1.0]() mutable { clock.advance(cost *= 2); };
    const auto frozen_read = [] {};
    CHECK(time_read(clock, steady_read, {.stop_rule = rule}).samples_ns().size() == 12);
    CHECK(time_read(clock, noisy_read, {.stop_rule = rule}).samples_ns().size() == 20);
    CHECK(time_read(clock, frozen_read, {.stop_rule = rule}).samples_ns().size() == 20);
}

TEST_CASE("a stop rule takes the place of num_samples, whatever that is", "[bench][pure]") {
    const TimingOptions options{.num_samples = 0,
                                .stop_rule = StopRule{.min_samples = 6, .max_samples = 9}};
    CHECK_NOTHROW(require_valid(options));
    test::SimulatedClock clock;
    CHECK(time_read(
              clock, [&] { clock.advance(10); }, options)
              .samples_ns()
              .size() == 6);
}

TEST_CASE("time_read refuses options that ask for no sample, naming value and limit",
          "[bench][pure]") {
    struct Refused {
        TimingOptions options;
        std::string message;
    };
    const double nan = std::numeric_limits<double>::quiet_NaN();
    const auto refused = GENERATE_COPY(
        Refused{{.num_samples = 0}, "num_samples is 0; it must be at least 1"},
        Refused{{.calls_per_sample = 0}, "calls_per_sample is 0; it must be at least 1"},
        Refused{{.stop_rule = StopRule{.min_samples = 0, .max_samples = 0}},
                "stop_rule.max_samples is 0; it must be at least 1"},
        Refused{{.stop_rule = StopRule{.min_samples = 9, .max_samples = 8}},
                "max_samples is 8; it must be at least min_samples, which is 9"},
        Refused{{.stop_rule = StopRule{.relative_error = 0}}, "must be above 0"},
        Refused{{.stop_rule = StopRule{.relative_error = nan}}, "relative_error is nan"});
    test::SimulatedClock clock;
    const auto read = [] {};
    CHECK_THROWS_MATCHES(time_read(clock, read, refused.options), std::invalid_argument,
                         MessageMatches(ContainsSubstring(refused.message)));
    CHECK(clock.num_readings() == 0);
}

// A device's events in small: now() records an event and returns a handle that says nothing by
// itself; the time between two events is looked up where they were recorded.
class EventClock {
  public:
    class Event {
      public:
        Event(const EventClock& clock, std::size_t idx) : clock_(&clock), idx_(idx) {}
        Event(const Event&) = delete;  // an event is recorded once
        Event& operator=(const Event&) = delete;

        std::chrono::duration<float, std::milli> operator-(const Event& begin) const {
            return std::chrono::duration<float, std::milli>(clock_->times_ms_.at(idx_) -
                                                            clock_->times_ms_.at(begin.idx_));
        }

      private:
        const EventClock* clock_;
        std::size_t idx_;
    };

    Event now() {
        times_ms_.push_back(device_time_ms_);
        return Event(*this, times_ms_.size() - 1);
    }
    void work(float ms) { device_time_ms_ += ms; }

  private:
    float device_time_ms_ = 0;
    std::vector<float> times_ms_;
};
static_assert(Clock<EventClock>);

TEST_CASE("time_read takes a clock whose readings are opaque events", "[bench][pure]") {
    EventClock clock;
    const auto read = [&] { clock.work(0.25F); };
    const ReadTiming timing = time_read(clock, read, {.num_samples = 3});
    CHECK(timing.samples_ns() == std::vector<double>{250e3, 250e3, 250e3});
}

TEST_CASE("time_read with the steady clock times real work", "[bench][pure]") {
    SteadyClock clock;
    volatile unsigned sum = 0;
    const auto read = [&] {
        for (unsigned i = 0; i < 1000; ++i) {
            sum = sum + i;
        }
    };
    const ReadTiming timing = time_read(clock, read, {.num_samples = 20});
    REQUIRE(timing.best_ns().has_value());
    CHECK(*timing.best_ns() <= *timing.median_ns());
}

}  // namespace
}  // namespace nanoserve
