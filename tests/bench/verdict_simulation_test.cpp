// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// How often is the verdict wrong? Simulated, because a real machine never tells.
//
// Each comparison takes 50 pairs, so its interval spans the ranks 18 to 33. When both reads have
// the same distribution the sign of a pair's log ratio is a fair coin, whatever that distribution,
// and the interval excludes 1 with probability 2 P(Bin(50, 1/2) <= 17) = 0.03284.
#include "bench/simulated_clock.hpp"

#include <nanoserve/bench/compare_reads.hpp>

#include <catch2/catch_test_macros.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>

namespace nanoserve {
namespace {

constexpr double kNoise = 0.02;
constexpr double kFalsePositiveRate = 0.03284;  // of the verdict, exact: see above
constexpr double kMaxFalsePositiveRate = 0.05;  // what readbench promises

struct VerdictCounts {
    int faster = 0;
    int slower = 0;
    [[nodiscard]] int num_claims() const { return faster + slower; }
};

// One machine: the cost of call number `call_idx` of a read whose undisturbed cost is `base_ns`.
using CostModel = double (*)(double base_ns, std::size_t call_idx, std::mt19937_64& random);

double log_normal(double base_ns, std::size_t, std::mt19937_64& random) {
    return base_ns * std::exp(std::normal_distribution<double>(0, kNoise)(random));
}

// Twice as slow at the end as at the beginning: 1 % per sample, half of the noise.
double drifting(double base_ns, std::size_t call_idx, std::mt19937_64& random) {
    return log_normal(base_ns * (1 + 0.01 * static_cast<double>(call_idx)), call_idx, random);
}

// Every other call, at random, falls into a mode that is 30 % slower.
double bimodal(double base_ns, std::size_t call_idx, std::mt19937_64& random) {
    const bool is_slow = random() % 2 == 0;
    return log_normal(is_slow ? 1.3 * base_ns : base_ns, call_idx, random);
}

// One interval in twenty is off by a millisecond, as often too short, and so below zero, as too
// long.
double jumping(double base_ns, std::size_t call_idx, std::mt19937_64& random) {
    const double cost_ns = log_normal(base_ns, call_idx, random);
    if (random() % 20 != 0) {
        return cost_ns;
    }
    return random() % 2 == 0 ? cost_ns - 1e6 : cost_ns + 1e6;
}

// A clock that counts steps of 100 ns, a tenth of what the reads take.
class SteppedClock {
  public:
    Nanoseconds now() const { return Nanoseconds(100 * std::floor(time_ns_ / 100)); }
    void advance(double ns) { time_ns_ += ns; }

  private:
    double time_ns_ = 12345;
};
static_assert(Clock<SteppedClock>);

template <class SimulatedClock = test::SimulatedClock>
Verdict simulate(CostModel cost, double speedup, std::mt19937_64& random) {
    SimulatedClock clock;
    std::size_t call_idx = 0;
    const auto baseline = [&] { clock.advance(cost(1000 * speedup, call_idx++, random)); };
    const auto candidate = [&] { clock.advance(cost(1000, call_idx++, random)); };
    const TimingOptions options{.num_samples = 50, .num_warmup = 0};
    return compare_reads(clock, baseline, candidate, options).verdict();
}

template <class SimulatedClock = test::SimulatedClock>
VerdictCounts count_verdicts(int num_comparisons, CostModel cost, double speedup,
                             std::uint64_t seed) {
    std::mt19937_64 random(seed);
    VerdictCounts counts;
    for (int i = 0; i < num_comparisons; ++i) {
        const Verdict verdict = simulate<SimulatedClock>(cost, speedup, random);
        counts.faster += verdict == Verdict::faster;
        counts.slower += verdict == Verdict::slower;
    }
    return counts;
}

// The number of false positives is Bin(n, p) with standard deviation sqrt(n p (1 - p)). A correct
// verdict strays 5 of them from n p for one seed in a million; for n = 10^4 that is 328 +- 89, well
// below the 500 that are promised.
double five_sigma(double n, double p) {
    return 5 * std::sqrt(n * p * (1 - p));
}

TEST_CASE("identical reads are told apart as rarely as the binomial says", "[bench][pure]") {
    constexpr int kNumComparisons = 10'000;
    const auto counts = count_verdicts(kNumComparisons, log_normal, 1.0, 20);
    const double expected = kNumComparisons * kFalsePositiveRate;
    const double margin = five_sigma(kNumComparisons, kFalsePositiveRate);
    CHECK(counts.num_claims() <= kNumComparisons * kMaxFalsePositiveRate);
    CHECK(std::abs(counts.num_claims() - expected) <= margin);
    // Both directions are equally likely.
    CHECK(std::abs(counts.faster - expected / 2) <=
          five_sigma(kNumComparisons, kFalsePositiveRate / 2));
}

TEST_CASE("two modes of the machine are not mistaken for a difference", "[bench][pure]") {
    // The coin stays fair, so the rate is the same: 328 +- 89.
    constexpr int kNumComparisons = 10'000;
    const auto counts = count_verdicts(kNumComparisons, bimodal, 1.0, 21);
    CHECK(std::abs(counts.num_claims() - kNumComparisons * kFalsePositiveRate) <=
          five_sigma(kNumComparisons, kFalsePositiveRate));
}

TEST_CASE("a drifting machine is not mistaken for a difference", "[bench][pure]") {
    // The second read of a pair is dearer. The order is balanced, so 25 coins fall to one side with
    // probability p and 25 with 1 - p: their sum has the same mean and a smaller variance than 50
    // fair ones, and errors are rarer than 3.3 %. At most 328 + 89.
    constexpr int kNumComparisons = 10'000;
    const auto counts = count_verdicts(kNumComparisons, drifting, 1.0, 22);
    CHECK(counts.num_claims() <=
          kNumComparisons * kFalsePositiveRate + five_sigma(kNumComparisons, kFalsePositiveRate));
}

TEST_CASE("a jumping clock makes no difference and hides none", "[bench][pure]") {
    // A pair is dropped when either half went back: 1 - (39/40)^2 = 5 % of them. The coin of the
    // rest stays fair, so whatever their number n >= 6, the exact binomial keeps errors below 5 %:
    // at most 500 + 109 of 10^4.
    constexpr int kNumComparisons = 10'000;
    const auto identical = count_verdicts(kNumComparisons, jumping, 1.0, 25);
    CHECK(identical.num_claims() <= kNumComparisons * kMaxFalsePositiveRate +
                                        five_sigma(kNumComparisons, kMaxFalsePositiveRate));
    // At a difference of 10 % an undisturbed pair favours the faster read in all but 4 of 10^4, and
    // of those kept one candidate in 39 is too long: 97 % favour it, and 31 of 47 are enough.
    const auto faster = count_verdicts(kNumComparisons, jumping, 1.1, 26);
    CHECK(faster.faster >= 0.9 * kNumComparisons);
    CHECK(faster.slower == 0);
}

TEST_CASE("a clock of coarse steps makes no difference", "[bench][pure]") {
    // Ties have the log ratio 0, which no interval that holds them excludes: errors are rarer.
    constexpr int kNumComparisons = 10'000;
    const auto counts = count_verdicts<SteppedClock>(kNumComparisons, log_normal, 1.0, 27);
    CHECK(counts.num_claims() <=
          kNumComparisons * kFalsePositiveRate + five_sigma(kNumComparisons, kFalsePositiveRate));
}

TEST_CASE("a difference of 3 % is found through 2 % of noise", "[bench][pure]") {
    // A pair's log ratio is normal around ln 1.03 = 0.0296 with deviation 0.02 sqrt 2 = 0.0283, so
    // a pair favours the faster read with probability 0.852, and 33 of 50 do in all but 1 of 10^3
    // runs.
    constexpr int kNumComparisons = 10'000;
    const auto faster = count_verdicts(kNumComparisons, log_normal, 1.03, 23);
    CHECK(faster.faster >= 0.9 * kNumComparisons);
    CHECK(faster.slower == 0);
    const auto slower = count_verdicts(kNumComparisons, log_normal, 1 / 1.03, 24);
    CHECK(slower.slower >= 0.9 * kNumComparisons);
    CHECK(slower.faster == 0);
}

}  // namespace
}  // namespace nanoserve
