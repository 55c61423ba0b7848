// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// Day 20: which behaviours has the comparison of two reads? Every clock here follows a script.
#include "bench/simulated_clock.hpp"

#include <nanoserve/bench/compare_reads.hpp>
#include <nanoserve/bench/fake_clock.hpp>

#include <catch2/catch_test_macros.hpp>

#include <cmath>
#include <optional>
#include <string>
#include <vector>

using namespace nanoserve;

namespace {

using Samples = std::vector<double>;

// NaN where there is none: a test that compares with it fails and shows it.
double value(std::optional<double> number) {
    return number.value_or(NAN);
}

std::string verdict_of(const Samples& baseline, const Samples& candidate,
                       SampleCount count = SampleCount::fixed) {
    const Verdict verdict = ReadComparison(baseline, candidate, 1, count).verdict();
    return verdict == Verdict::none ? "none" : std::string(to_string(verdict));
}

void require_ratio(const ReadComparison& comparison, double expected) {
    constexpr double kRoundings = 1e-14;  // log, subtract, exp
    const double got = value(comparison.median_ratio());
    INFO("the median ratio should be " << expected << " and is " << got);
    REQUIRE(std::abs(got / expected - 1) <= kRoundings);
}

// What compare_reads did, in order: c a check, b a hook before a sample, t a reading of the clock,
// B and C a call of the baseline and of the candidate.
std::string order_of_calls(TimingOptions options) {
    struct Clock {
        std::string& log;
        Nanoseconds now() {
            log += 't';
            return Nanoseconds(0);
        }
    };
    std::string log;
    Clock clock{log};
    options.before_sample = [&] { log += 'b'; };
    options.check = [&] { log += 'c'; };
    (void)compare_reads(
        clock, [&] { log += 'B'; }, [&] { log += 'C'; }, options);
    return log;
}

}  // namespace

TEST_CASE("speedup is baseline over candidate: 80 against 20 ns is 4") {
    REQUIRE(value(ReadComparison(Samples{80}, Samples{20}, 1).speedup()) == 4);
    REQUIRE(value(ReadComparison(Samples{20}, Samples{80}, 1).speedup()) == 0.25);
}

TEST_CASE("speedup is taken from the best samples: what disturbs a read only adds time") {
    const ReadComparison comparison(Samples{90, 40, 70, 50}, Samples{20, 95, 30, 99}, 1);
    REQUIRE(value(comparison.speedup()) == 2);
}

TEST_CASE("without a usable sample of each read there is no speedup") {
    REQUIRE_FALSE(ReadComparison().speedup().has_value());
    REQUIRE_FALSE(ReadComparison(Samples{-1, NAN}, Samples{20, 30}, 1).speedup().has_value());
    REQUIRE_FALSE(ReadComparison(Samples{20, 30}, Samples{0, 30}, 1).speedup().has_value());
}

TEST_CASE("the ratio of a pair is baseline over candidate, its median is taken on logarithms") {
    require_ratio(ReadComparison(Samples{30, 30, 30}, Samples{10, 10, 10}, 1), 3);
    require_ratio(ReadComparison(Samples{10, 40}, Samples{10, 10}, 1), 2);  // of 1 and 4
}

TEST_CASE("a clock that is too coarse leaves no ratio, even where its zero stands in a bad pair") {
    Samples baseline(8, 16.0);
    Samples candidate(8, 32.0);
    baseline[3] = 0;
    REQUIRE_FALSE(ReadComparison(baseline, candidate, 1).median_ratio().has_value());
    candidate[3] = -1;  // drops the pair
    REQUIRE_FALSE(ReadComparison(baseline, candidate, 1).median_ratio().has_value());
    REQUIRE(verdict_of(baseline, candidate) == "none");
}

TEST_CASE("an interval above 1 is faster, one below is slower, one around it no difference") {
    const Samples thirty(6, 30.0);  // of six pairs, the interval is the whole range
    REQUIRE(verdict_of(thirty, {20, 25, 20, 25, 20, 25}) == "faster");
    REQUIRE(verdict_of(thirty, {40, 35, 40, 35, 40, 35}) == "slower");
    REQUIRE(verdict_of(thirty, {20, 60, 20, 60, 20, 20}) == "no difference");
    REQUIRE(verdict_of(thirty, thirty) == "no difference");
}

TEST_CASE("five pairs are too few for a verdict") {
    REQUIRE(verdict_of(Samples(5, 80.0), Samples(5, 20.0)) == "none");
}

TEST_CASE("a run that stopped when its numbers pleased gives no verdict") {
    REQUIRE(verdict_of(Samples(8, 80.0), Samples(8, 20.0), SampleCount::by_stop_rule) == "none");
    test::SimulatedClock clock;
    const TimingOptions options{
        .stop_rule = StopRule{.relative_error = 0.01, .min_samples = 8, .max_samples = 50}};
    const auto comparison = compare_reads(
        clock, [&] { clock.advance(80); }, [&] { clock.advance(20); }, options);
    REQUIRE(comparison.pairs.size() == 8);
    REQUIRE(comparison.verdict() == Verdict::none);
}

TEST_CASE("compare_reads takes as many pairs as it is asked for, and k calls for each sample") {
    test::SimulatedClock clock;
    const auto comparison = compare_reads(
        clock, [&] { clock.advance(80); }, [&] { clock.advance(20); },
        {.num_samples = 7, .calls_per_sample = 5});
    REQUIRE(comparison.pairs.size() == 7);
    REQUIRE(comparison.pairs[6].baseline_ns == 400);
    REQUIRE(comparison.pairs[6].candidate_ns == 100);
    REQUIRE(value(comparison.baseline.best_ns()) == 80);
}

TEST_CASE("the reads take turns at going first, so that a drift favours neither") {
    std::string order = order_of_calls({.num_samples = 4, .num_warmup = 0});
    std::erase_if(order, [](char c) { return c == 'b' || c == 'c'; });
    INFO("t reads the clock, B and C call the baseline and the candidate");
    REQUIRE(order ==
            "tBttCt"
            "tCttBt"
            "tBttCt"
            "tCttBt");
}

TEST_CASE("each interval lands on its own side of its own pair") {
    FakeClock clock{10, 11, 21, 20, 30, 31};  // in the order of the clock: B C, C B, B C
    const auto read = [] {};
    const auto comparison = compare_reads(clock, read, read, {.num_samples = 3, .num_warmup = 0});
    REQUIRE(comparison.baseline.samples_ns() == Samples{10, 20, 30});
    REQUIRE(comparison.candidate.samples_ns() == Samples{11, 21, 31});
}

TEST_CASE(
    "the outputs are checked before the first sample and after the last, both reads warmed up") {
    INFO("c checks, b is before_sample, t reads the clock, B and C call the reads");
    REQUIRE(order_of_calls({.num_samples = 1, .num_warmup = 2}) == "cbBbCbBbCbtBtbtCtc");
}

TEST_CASE("options that ask for no sample are refused") {
    FakeClock clock{1, 2};
    const auto read = [] {};
    REQUIRE_THROWS_AS(compare_reads(clock, read, read, {.num_samples = 0}), std::invalid_argument);
}
