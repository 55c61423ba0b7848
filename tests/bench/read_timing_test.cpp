// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <nanoserve/bench/read_timing.hpp>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>

#include <cstddef>
#include <limits>
#include <stdexcept>
#include <vector>

namespace nanoserve {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();
using Samples = std::vector<double>;

void check_has_no_statistics(const ReadTiming& timing) {
    CHECK(timing.best_ns() == std::nullopt);
    CHECK(timing.mean_ns() == std::nullopt);
    CHECK(timing.median_ns() == std::nullopt);
    CHECK(timing.low_ns() == std::nullopt);
    CHECK(timing.high_ns() == std::nullopt);
    CHECK(timing.spread() == std::nullopt);
    CHECK(timing.relative_error() == std::nullopt);
}

TEST_CASE("ReadTiming of one sample is that sample", "[bench][pure]") {
    const ReadTiming timing(Samples{7});
    CHECK(timing.best_ns() == 7);
    CHECK(timing.mean_ns() == 7);
    CHECK(timing.median_ns() == 7);
    CHECK(timing.spread() == 0);
    CHECK(timing.relative_error() == std::nullopt);
}

TEST_CASE("ReadTiming of identical samples has no spread", "[bench][pure]") {
    const ReadTiming timing(Samples(400, 0.1));
    CHECK(timing.best_ns() == 0.1);
    CHECK(timing.mean_ns() == 0.1);
    CHECK(timing.median_ns() == 0.1);
    CHECK(timing.spread() == 0);
    CHECK(timing.relative_error() == 0);
}

TEST_CASE("ReadTiming without samples has no statistics", "[bench][pure]") {
    check_has_no_statistics(ReadTiming());
    check_has_no_statistics(ReadTiming(Samples{}));
    CHECK_FALSE(ReadTiming().clock_too_coarse());
}

TEST_CASE("ReadTiming keeps the samples in order and divides the statistics by the calls",
          "[bench][pure]") {
    const ReadTiming timing(Samples{70, 10, 40, 20}, 10);
    CHECK(timing.samples_ns() == Samples{70, 10, 40, 20});
    CHECK(timing.calls_per_sample() == 10);
    CHECK(timing.best_ns() == 1.0);
    CHECK(timing.mean_ns() == 3.5);
    CHECK(timing.median_ns() == 3.0);
    CHECK(timing.low_ns() == 1.0);
    CHECK(timing.high_ns() == 7.0);
    CHECK(timing.spread() == 2.0);
}

TEST_CASE("ReadTiming refuses zero calls per sample", "[bench][pure]") {
    CHECK_THROWS_AS(ReadTiming(Samples{1}, 0), std::invalid_argument);
}

TEST_CASE("ReadTiming drops and counts a backward interval", "[bench][pure]") {
    const ReadTiming timing(Samples{30, -5, 10, -1e300, 20});
    CHECK(timing.samples_ns() == Samples{30, 10, 20});
    CHECK(timing.num_backward() == 2);
    CHECK(timing.num_not_finite() == 0);
    CHECK(timing.best_ns() == 10);
    CHECK(timing.mean_ns() == 20);
    CHECK_FALSE(timing.clock_too_coarse());
}

TEST_CASE("ReadTiming drops and counts an interval that is not finite", "[bench][pure]") {
    const ReadTiming timing(Samples{kNaN, 30, kInf, 10, -kInf, 20});
    CHECK(timing.samples_ns() == Samples{30, 10, 20});
    CHECK(timing.num_not_finite() == 3);
    CHECK(timing.num_backward() == 0);
    CHECK(timing.median_ns() == 20);
}

TEST_CASE("ReadTiming of bad intervals alone has no statistics", "[bench][pure]") {
    check_has_no_statistics(ReadTiming(Samples{-1, kNaN, -2}));
}

TEST_CASE("a zero interval stays a sample and takes the best away", "[bench][pure]") {
    const ReadTiming timing(Samples{0, 10, 20});
    CHECK(timing.clock_too_coarse());
    CHECK(timing.samples_ns().size() == 3);
    CHECK(timing.best_ns() == std::nullopt);
    CHECK(timing.low_ns() == std::nullopt);
    CHECK(timing.spread() == std::nullopt);
    CHECK(timing.mean_ns() == 10);
    CHECK(timing.median_ns() == 10);
    CHECK(timing.high_ns() == 20);
}

TEST_CASE("OPEN-16: a clock that never advances yields no statistics", "[bench][pure]") {
    const ReadTiming timing(Samples(50, 0.0));
    CHECK(timing.clock_too_coarse());
    check_has_no_statistics(timing);
}

TEST_CASE("a clock of 16 ms steps yields a mean but no best", "[bench][pure]") {
    Samples samples(100, 0.0);
    samples[10] = 16e6;
    samples[60] = 16e6;
    const ReadTiming timing(samples);
    CHECK(timing.clock_too_coarse());
    CHECK(timing.best_ns() == std::nullopt);
    CHECK(timing.median_ns() == std::nullopt);
    REQUIRE(timing.mean_ns().has_value());
    // 100 steps of the running mean, each with three roundings of at most 2^-53 of 1.6e6.
    CHECK_THAT(*timing.mean_ns(), Catch::Matchers::WithinRel(320e3, 1e-12));
}

TEST_CASE("times at the edges of a double stay finite or absent", "[bench][pure]") {
    const double huge = std::numeric_limits<double>::max();
    const double tiny = std::numeric_limits<double>::denorm_min();
    CHECK(ReadTiming(Samples{huge, huge}).mean_ns() == huge);
    CHECK(ReadTiming(Samples{tiny}, 10).best_ns() == std::nullopt);
    CHECK(ReadTiming(Samples{tiny, tiny, tiny, huge}).spread() == std::nullopt);
    CHECK(ReadTiming(Samples{tiny, tiny, tiny, tiny, tiny, huge}).relative_error() == std::nullopt);
}

TEST_CASE("relative_error is half the width of the median's interval over the median",
          "[bench][pure]") {
    // Nine samples: ranks 2 and 8, so (80 - 20) / 2 / 50.
    const ReadTiming timing(Samples{60, 10, 90, 20, 80, 30, 70, 40, 50}, 4);
    CHECK(timing.relative_error() == 0.6);
}

TEST_CASE("ReadTiming of a million samples", "[bench][pure]") {
    constexpr std::size_t kNumSamples = 1'000'000;
    constexpr std::size_t kStride = 7919;  // a prime that does not divide the count: a shuffle
    Samples samples(kNumSamples);
    for (std::size_t i = 0; i < kNumSamples; ++i) {
        samples[i] = static_cast<double>(i * kStride % kNumSamples + 1);
    }
    const ReadTiming timing(samples);
    CHECK(timing.best_ns() == 1);
    CHECK(timing.median_ns() == 500'000.5);
    CHECK(timing.low_ns() == 50'000);
    CHECK(timing.high_ns() == 950'000);
    REQUIRE(timing.mean_ns().has_value());
    // Three roundings per sample of at most 2^-53 relative each: 3e6 * 1.1e-16 < 1e-9.
    CHECK_THAT(*timing.mean_ns(), Catch::Matchers::WithinRel(500'000.5, 1e-9));
    REQUIRE(timing.relative_error().has_value());
    // Ranks n/2 -+ 1.96 sqrt(n)/2 = 980 of 1..n over the median 500000; +-2 ranks for the rounding.
    CHECK_THAT(*timing.relative_error(), Catch::Matchers::WithinAbs(980.0 / 500e3, 2.0 / 500e3));
}

}  // namespace
}  // namespace nanoserve
