// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// Day 20: which behaviours has the comparison of two reads? Every clock here follows a script.
#include "bench/simulated_clock.hpp"
#include "exercise/expect.hpp"

#include <nanoserve/bench/compare_reads.hpp>
#include <nanoserve/bench/fake_clock.hpp>

#include <catch2/catch_test_macros.hpp>

#include <cmath>
#include <optional>
#include <string>
#include <vector>

using namespace nanoserve;
using nanoserve::testing::expect_equal;

namespace {

using Samples = std::vector<double>;

std::string verdict_of(const ReadComparison& comparison) {
    const Verdict verdict = comparison.verdict();
    return verdict == Verdict::none ? "none" : std::string(to_string(verdict));
}

std::string verdict_of(const Samples& baseline, const Samples& candidate) {
    return verdict_of(ReadComparison(baseline, candidate, 1));
}

void expect_ratio(const ReadComparison& comparison, double expected) {
    constexpr double kRoundings = 1e-14;  // log, subtract, exp
    const double got = comparison.median_ratio().value_or(NAN);
    if (!(std::abs(got / expected - 1) <= kRoundings)) {
        FAIL("the median ratio: expected " << expected << ", got " << got);
    }
}

// Compares two reads of constant cost on a clock that only they move.
ReadComparison compare_costs(double baseline_ns, double candidate_ns,
                             const TimingOptions& options) {
    test::SimulatedClock clock;
    return compare_reads(
        clock, [&] { clock.advance(baseline_ns); }, [&] { clock.advance(candidate_ns); }, options);
}

// What compare_reads does, in order, a letter for each thing.
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
constexpr auto kLetters =
    "the order of calls: t reads the clock, B and C call the baseline and the candidate,\n"
    "b is the hook before a sample, c checks the outputs";

}  // namespace

TEST_CASE("speedup is baseline over candidate: 80 against 20 ns is 4") {
    expect_equal("80 ns against 20", ReadComparison(Samples{80}, Samples{20}, 1).speedup(), 4);
    expect_equal("20 ns against 80", ReadComparison(Samples{20}, Samples{80}, 1).speedup(), 0.25);
}

TEST_CASE("speedup is taken from the best samples: what disturbs a read only adds time") {
    const ReadComparison comparison(Samples{90, 40, 70, 50}, Samples{20, 95, 30, 99}, 1);
    expect_equal("bests of 40 and 20 ns", comparison.speedup(), 2);
}

TEST_CASE("without a usable sample of each read there is no speedup") {
    const Samples good{20, 30};
    const auto none = std::nullopt;
    expect_equal("no samples", ReadComparison().speedup(), none);
    expect_equal("-1 and NaN", ReadComparison(Samples{-1, NAN}, good, 1).speedup(), none);
    expect_equal("0 in a list", ReadComparison(good, Samples{0, 30}, 1).speedup(), none);
}

TEST_CASE("the ratio of a pair is baseline over candidate, its median is taken on logarithms") {
    expect_ratio(ReadComparison(Samples{30, 30, 30}, Samples{10, 10, 10}, 1), 3);
    expect_ratio(ReadComparison(Samples{10, 40}, Samples{10, 10}, 1), 2);  // of 1 and 4
}

TEST_CASE("a clock that is too coarse leaves no ratio, even where its zero stands in a bad pair") {
    Samples baseline(8, 16.0);
    Samples candidate(8, 32.0);
    baseline[3] = 0;
    expect_equal("a pair of 0 and 32 ns", ReadComparison(baseline, candidate, 1).median_ratio(),
                 std::nullopt);
    candidate[3] = -1;
    expect_equal("a pair of 0 and -1 ns, which is dropped",
                 ReadComparison(baseline, candidate, 1).median_ratio(), std::nullopt);
    expect_equal("the verdict", verdict_of(baseline, candidate), "none");
}

TEST_CASE("an interval above 1 is faster, one below is slower, one around it no difference") {
    const Samples thirty(6, 30.0);  // of six pairs, the interval is the whole range
    expect_equal("30 ns against 20 to 25", verdict_of(thirty, {20, 25, 20, 25, 20, 25}), "faster");
    expect_equal("30 ns against 35 to 40", verdict_of(thirty, {40, 35, 40, 35, 40, 35}), "slower");
    expect_equal("30 ns against 20 to 60", verdict_of(thirty, {20, 60, 20, 60, 20, 20}),
                 "no difference");
    expect_equal("30 ns against 30", verdict_of(thirty, thirty), "no difference");
}

TEST_CASE("five pairs are too few for a verdict") {
    expect_equal("80 ns against 20, five times", verdict_of(Samples(5, 80.0), Samples(5, 20.0)),
                 "none");
}

TEST_CASE("a run that stopped when its numbers pleased gives no verdict") {
    const ReadComparison stopped(Samples(8, 80.0), Samples(8, 20.0), 1, SampleCount::by_stop_rule);
    expect_equal("a comparison by_stop_rule", verdict_of(stopped), "none");
    const StopRule rule{.relative_error = 0.01, .min_samples = 8, .max_samples = 50};
    const ReadComparison comparison = compare_costs(80, 20, {.stop_rule = rule});
    expect_equal("compare_reads with a stop rule", verdict_of(comparison), "none");
    expect_equal("pairs", static_cast<double>(comparison.pairs.size()), 8);
}

TEST_CASE("compare_reads takes as many pairs as it is asked for, and k calls for each sample") {
    const ReadComparison comparison =
        compare_costs(80, 20, {.num_samples = 7, .calls_per_sample = 5});
    expect_equal("pairs", static_cast<double>(comparison.pairs.size()), 7);
    expect_equal("5 calls of 80 ns", comparison.pairs.back().baseline_ns, 400);
    expect_equal("5 calls of 20 ns", comparison.pairs.back().candidate_ns, 100);
    expect_equal("one call of 80 ns", comparison.baseline.best_ns(), 80);
}

TEST_CASE("the reads take turns at going first, so that a drift favours neither") {
    std::string order = order_of_calls({.num_samples = 4, .num_warmup = 0});
    std::erase_if(order, [](char letter) { return letter == 'b' || letter == 'c'; });
    expect_equal(kLetters, order, "tBttCttCttBttBttCttCttBt");
}

TEST_CASE("each interval lands on its own side of its own pair") {
    FakeClock clock{10, 11, 21, 20, 30, 31};  // in the order of the clock: B C, C B, B C
    const auto read = [] {};
    const auto comparison = compare_reads(clock, read, read, {.num_samples = 3, .num_warmup = 0});
    for (std::size_t i = 0; i < comparison.pairs.size(); ++i) {
        const auto ns = 10.0 * static_cast<double>(i + 1);
        INFO("pair " << i << " of {10, 11}, {20, 21}, {30, 31} ns");
        expect_equal("the baseline", comparison.pairs[i].baseline_ns, ns);
        expect_equal("the candidate", comparison.pairs[i].candidate_ns, ns + 1);
    }
    expect_equal("pairs", static_cast<double>(comparison.pairs.size()), 3);
}

TEST_CASE("outputs are checked before the first sample and after the last, both reads warmed up") {
    expect_equal(kLetters, order_of_calls({.num_samples = 1, .num_warmup = 2}),
                 "cbBbCbBbCbtBtbtCtc");
}

TEST_CASE("options that ask for no sample are refused") {
    FakeClock clock{1, 2};
    const auto read = [] {};
    REQUIRE_THROWS_AS(compare_reads(clock, read, read, {.num_samples = 0}), std::invalid_argument);
}
