// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/simulated_clock.hpp"

#include <nanoserve/bench/compare_reads.hpp>
#include <nanoserve/bench/fake_clock.hpp>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>

#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

namespace nanoserve {
namespace {

using Catch::Matchers::WithinRel;
using Samples = std::vector<double>;
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kLogExpTolerance = 1e-14;  // log, subtract, exp: a few roundings of 2^-53

// Compares two reads of constant cost.
ReadComparison compare_costs(double baseline_ns, double candidate_ns,
                             const TimingOptions& options = {.num_samples = 10}) {
    test::SimulatedClock clock;
    const auto baseline = [&] { clock.advance(baseline_ns); };
    const auto candidate = [&] { clock.advance(candidate_ns); };
    return compare_reads(clock, baseline, candidate, options);
}

void check_claims_nothing(const ReadComparison& comparison) {
    CHECK(comparison.speedup() == std::nullopt);
    CHECK(comparison.median_ratio() == std::nullopt);
    CHECK_FALSE(comparison.ratio_interval().has_value());
    CHECK(comparison.verdict() == Verdict::none);
}

TEST_CASE("OPEN-17: speedup is baseline over candidate: 80 against 20 ns is 4.00",
          "[bench][pure]") {
    const ReadComparison comparison = compare_costs(80, 20);
    CHECK(comparison.speedup() == 4.0);
    CHECK(comparison.verdict() == Verdict::faster);
    CHECK(describe(comparison) == "speedup 4.00, faster (95 % interval 4.00 to 4.00)");
}

TEST_CASE("OPEN-17: a candidate that takes longer is called slower: 20 against 80 ns is 0.25",
          "[bench][pure]") {
    const ReadComparison comparison = compare_costs(20, 80);
    CHECK(comparison.speedup() == 0.25);
    CHECK(comparison.verdict() == Verdict::slower);
    CHECK(describe(comparison) == "speedup 0.25, slower (95 % interval 0.25 to 0.25)");
}

TEST_CASE("two reads of the same cost show no difference", "[bench][pure]") {
    const ReadComparison comparison = compare_costs(30, 30);
    CHECK(comparison.speedup() == 1.0);
    CHECK(comparison.median_ratio() == 1.0);
    CHECK(comparison.verdict() == Verdict::no_difference);
    CHECK(describe(comparison) == "speedup 1.00, no difference (95 % interval 1.00 to 1.00)");
}

TEST_CASE("describe shows digits enough to see that an interval excludes 1", "[bench][pure]") {
    Samples baseline, candidate;
    for (int i = 0; i < 50; ++i) {
        baseline.push_back(1000 + i % 3);
        candidate.push_back(997 + i % 3);
    }
    CHECK(describe(ReadComparison(baseline, candidate, 1)) ==
          "speedup 1.003, faster (95 % interval 1.003 to 1.003)");
    CHECK(describe(ReadComparison(candidate, baseline, 1)) ==
          "speedup 0.997, slower (95 % interval 0.997 to 0.997)");
    CHECK(describe(compare_costs(1, 1000)) ==
          "speedup 0.0010, slower (95 % interval 0.0010 to 0.0010)");
    CHECK(describe(compare_costs(1000, 1)) ==
          "speedup 1000.00, faster (95 % interval 1000.00 to 1000.00)");
    CHECK(describe(compare_costs(1e6, 1e6 - 1)) ==
          "speedup 1.000001, faster (95 % interval 1.000001 to 1.000001)");
    CHECK(describe(compare_costs(1009.6, 1000)) ==
          "speedup 1.010, faster (95 % interval 1.010 to 1.010)");
    // One end excludes 1 by little, the other by much.
    CHECK(describe(ReadComparison(Samples(6, 1002), Samples{1000, 900, 501, 501, 501, 501}, 1)) ==
          "speedup 2.00, faster (95 % interval 1.002 to 2.00)");
}

TEST_CASE("speedup is taken from the bests, the verdict from the pairs", "[bench][pure]") {
    // The candidate has the one fastest sample but loses every other pair.
    const Samples baseline{50, 50, 50, 50, 50, 50, 50, 50, 50, 50};
    const Samples candidate{90, 90, 90, 90, 10, 90, 90, 90, 90, 90};
    const ReadComparison comparison(baseline, candidate, 1);
    CHECK(comparison.speedup() == 5.0);
    CHECK(comparison.verdict() == Verdict::slower);
}

TEST_CASE("an interval that holds the ratio 1 shows no difference", "[bench][pure]") {
    // Six pairs: the interval is the whole range of their ratios, 30/20 down to 30/60.
    const ReadComparison comparison(Samples(6, 30.0), Samples{20, 60, 20, 60, 20, 20}, 1);
    const auto interval = comparison.ratio_interval();
    REQUIRE(interval.has_value());
    CHECK_THAT(interval->low, WithinRel(0.5, kLogExpTolerance));
    CHECK_THAT(interval->high, WithinRel(1.5, kLogExpTolerance));
    CHECK(comparison.verdict() == Verdict::no_difference);
}

TEST_CASE("median_ratio of an even count is the geometric mean of the middle two",
          "[bench][pure]") {
    const ReadComparison comparison(Samples{10, 40}, Samples{10, 10}, 1);
    REQUIRE(comparison.median_ratio().has_value());
    CHECK_THAT(*comparison.median_ratio(), WithinRel(2.0, kLogExpTolerance));  // of 1 and 4
}

TEST_CASE("a verdict takes six pairs", "[bench][pure]") {
    CHECK(compare_costs(80, 20, {.num_samples = 5}).verdict() == Verdict::none);
    CHECK(compare_costs(80, 20, {.num_samples = 6}).verdict() == Verdict::faster);
    CHECK(compare_costs(20, 80, {.num_samples = 6}).verdict() == Verdict::slower);
    CHECK(describe(compare_costs(80, 20, {.num_samples = 5})) == "speedup 4.00, no verdict");
}

TEST_CASE("verdicts have names", "[bench][pure]") {
    CHECK(to_string(Verdict::none).empty());
    CHECK(to_string(Verdict::faster) == "faster");
    CHECK(to_string(Verdict::slower) == "slower");
    CHECK(to_string(Verdict::no_difference) == "no difference");
}

// Reads and hooks that write down that they ran, on a clock that does the same.
struct LoggingClock {
    std::string& log;
    Nanoseconds now() {
        log += 't';
        return Nanoseconds(0);
    }
};

std::string order_of_calls(const TimingOptions& options, std::string& log) {
    LoggingClock clock{log};
    const auto baseline = [&] { log += 'B'; };
    const auto candidate = [&] { log += 'C'; };
    (void)compare_reads(clock, baseline, candidate, options);
    return log;
}

TEST_CASE("compare_reads alternates which read of a pair goes first", "[bench][pure]") {
    std::string log;
    const TimingOptions options{.num_samples = 4, .num_warmup = 0};
    CHECK(order_of_calls(options, log) ==
          "tBttCt"
          "tCttBt"
          "tBttCt"
          "tCttBt");
}

TEST_CASE("compare_reads warms up both reads and keeps all hooks out of the samples",
          "[bench][pure]") {
    std::string log;
    const TimingOptions options{.num_samples = 2,
                                .num_warmup = 2,
                                .calls_per_sample = 2,
                                .before_sample = [&] { log += 'b'; },
                                .check = [&] { log += 'c'; }};
    CHECK(order_of_calls(options, log) ==
          "c"
          "bBbC"
          "bBbC"
          "btBBt"
          "btCCt"
          "btCCt"
          "btBBt"
          "c");
}

TEST_CASE("settle calls run the same read again, untimed, right before its sample",
          "[bench][pure]") {
    std::string log;
    const TimingOptions options{
        .num_samples = 2, .num_warmup = 0, .settle_calls = 2, .before_sample = [&] { log += 'b'; }};
    CHECK(order_of_calls(options, log) ==
          "bBBtBt"
          "bCCtCt"
          "bCCtCt"
          "bBBtBt");
}

TEST_CASE("compare_reads puts each interval on its own side of its own pair", "[bench][pure]") {
    // In the order of the clock: B C, C B, B C.
    FakeClock clock{10, 11, 21, 20, 30, 31};
    const auto read = [] {};
    const ReadComparison comparison =
        compare_reads(clock, read, read, {.num_samples = 3, .num_warmup = 0});
    CHECK(comparison.baseline.samples_ns() == Samples{10, 20, 30});
    CHECK(comparison.candidate.samples_ns() == Samples{11, 21, 31});
    REQUIRE(comparison.pairs.size() == 3);
    CHECK(comparison.pairs[1].baseline_ns == 20);
    CHECK(comparison.pairs[1].candidate_ns == 21);
    CHECK(clock.num_readings() == 12);
}

TEST_CASE("k calls per sample change neither the times per call nor the ratio", "[bench][pure]") {
    const ReadComparison comparison =
        compare_costs(80, 20, {.num_samples = 6, .calls_per_sample = 8});
    CHECK(comparison.pairs[0].baseline_ns == 640);
    CHECK(comparison.baseline.best_ns() == 80);
    CHECK(comparison.candidate.best_ns() == 20);
    CHECK(comparison.speedup() == 4.0);
}

TEST_CASE("a bad interval drops its pair, not the other half's sample", "[bench][pure]") {
    const ReadComparison comparison(Samples{10, -1, 10, kNaN, 10, 10}, Samples{5, 5, -1, 5, 5, 5},
                                    1);
    CHECK(comparison.pairs.size() == 3);
    CHECK(comparison.num_dropped_pairs == 3);
    CHECK(comparison.baseline.samples_ns() == Samples(4, 10.0));
    CHECK(comparison.candidate.samples_ns() == Samples(5, 5.0));
    CHECK(comparison.baseline.num_backward() == 1);
    CHECK(comparison.baseline.num_not_finite() == 1);
    CHECK(comparison.candidate.num_backward() == 1);
    CHECK(comparison.speedup() == 2.0);
    CHECK(comparison.verdict() == Verdict::none);  // three pairs are left
}

TEST_CASE("OPEN-16: a clock that does not advance for one of the reads leaves nothing to claim",
          "[bench][pure]") {
    struct Costs {
        double baseline_ns, candidate_ns;
    };
    const auto costs = GENERATE(Costs{0, 0}, Costs{0, 50}, Costs{50, 0});
    const ReadComparison comparison = compare_costs(costs.baseline_ns, costs.candidate_ns);
    CHECK(comparison.clock_too_coarse());
    check_claims_nothing(comparison);
    CHECK(describe(comparison) ==
          "no speedup: the clock is too coarse, take more calls per sample");
}

TEST_CASE("OPEN-16: one zero among good samples is enough to call the clock coarse",
          "[bench][pure]") {
    Samples baseline(20, 16e6);
    baseline[7] = 0;
    check_claims_nothing(ReadComparison(baseline, Samples(20, 32e6), 1));
    check_claims_nothing(ReadComparison(Samples(20, 32e6), baseline, 1));

    Samples candidate(20, 32e6);
    candidate[7] = -1;  // the pair is dropped, what its zero says about the clock is not
    check_claims_nothing(ReadComparison(baseline, candidate, 1));
}

TEST_CASE("without usable samples there is nothing to claim", "[bench][pure]") {
    check_claims_nothing(ReadComparison());
    const ReadComparison comparison(Samples(8, kNaN), Samples(8, -1.0), 1);
    check_claims_nothing(comparison);
    CHECK(comparison.num_dropped_pairs == 8);
    CHECK(describe(comparison) == "no speedup: no usable samples");
}

TEST_CASE("a ratio beyond a double is absent, not infinite", "[bench][pure]") {
    check_claims_nothing(ReadComparison(Samples(8, 1e300), Samples(8, 1e-300), 1));
    check_claims_nothing(ReadComparison(Samples(8, 1e-300), Samples(8, 1e300), 1));
}

TEST_CASE("a ratio beyond a double is described as that, not as a lack of samples",
          "[bench][pure]") {
    const char* text = "no speedup: the samples are usable, but their ratio is beyond a double";
    CHECK(describe(ReadComparison(Samples(8, 1e300), Samples(8, 1e-300), 1)) == text);
    CHECK(describe(ReadComparison(Samples(8, 1e-300), Samples(8, 1e300), 1)) == text);
    // A sample that is not zero, of so many calls that one of them is.
    CHECK(describe(ReadComparison(Samples(8, 5e-324), Samples(8, 1), 4)) == text);
    CHECK(describe(ReadComparison(Samples(8, 1), Samples(8, -1), 1)) ==
          "no speedup: no usable samples");
}

TEST_CASE("a run that a stop rule ended gives no verdict", "[bench][pure]") {
    const TimingOptions options{
        .stop_rule = StopRule{.relative_error = 0.01, .min_samples = 8, .max_samples = 50}};
    const ReadComparison comparison = compare_costs(80, 20, options);
    CHECK(comparison.pairs.size() == 8);
    CHECK(comparison.speedup() == 4.0);
    CHECK(comparison.ratio_interval().has_value());
    CHECK(comparison.verdict() == Verdict::none);
}

TEST_CASE("a stop rule waits for the noisier of the two reads", "[bench][pure]") {
    test::SimulatedClock clock;
    const TimingOptions options{
        .stop_rule = StopRule{.relative_error = 0.01, .min_samples = 6, .max_samples = 20}};
    const auto steady_read = [&] { clock.advance(10); };
    auto noisy_read = [&, cost = 1.0]() mutable { clock.advance(cost *= 2); };
    CHECK(compare_reads(clock, steady_read, noisy_read, options).pairs.size() == 20);
    CHECK(compare_reads(clock, noisy_read, steady_read, options).pairs.size() == 20);
}

TEST_CASE("compare_reads refuses zero samples and zero calls", "[bench][pure]") {
    CHECK_THROWS_AS(compare_costs(1, 1, {.num_samples = 0}), std::invalid_argument);
    CHECK_THROWS_AS(compare_costs(1, 1, {.calls_per_sample = 0}), std::invalid_argument);
}

TEST_CASE("ReadComparison refuses lists of different lengths", "[bench][pure]") {
    CHECK_THROWS_AS(ReadComparison(Samples{1, 2}, Samples{1}, 1), std::invalid_argument);
}

TEST_CASE("compare_reads lets an exception of either read pass", "[bench][pure]") {
    test::SimulatedClock clock;
    const auto good = [&] { clock.advance(1); };
    const auto bad = [] { throw std::domain_error("bad block"); };
    CHECK_THROWS_AS(compare_reads(clock, good, bad), std::domain_error);
    CHECK_THROWS_AS(compare_reads(clock, bad, good), std::domain_error);
}

}  // namespace
}  // namespace nanoserve
