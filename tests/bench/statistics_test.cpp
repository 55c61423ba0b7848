// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <nanoserve/bench/statistics.hpp>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <vector>

namespace nanoserve {
namespace {

constexpr double kMax = std::numeric_limits<double>::max();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();
using Values = std::vector<double>;

// Row n of Pascal's triangle in integers: C(n, 0), ..., C(n, n). Exact up to n = 60.
std::vector<std::uint64_t> pascal_row(std::size_t n) {
    std::vector<std::uint64_t> row{1};
    while (row.size() <= n) {
        row.push_back(0);
        for (std::size_t j = row.size() - 1; j > 0; --j) {
            row[j] += row[j - 1];
        }
    }
    return row;
}

// 2 P(Bin(n, 1/2) <= k - 1), exact: the numerator fits 64 bits, and 2^-n is a power of two.
double error_probability(std::size_t n, std::size_t k) {
    const auto row = pascal_row(n);
    std::uint64_t num_ways = 0;
    for (std::size_t j = 0; j < k; ++j) {
        num_ways += row[j];
    }
    return std::ldexp(2 * static_cast<double>(num_ways), -static_cast<int>(n));
}

TEST_CASE("OPEN-17: mean and median of an even count", "[bench][pure]") {
    CHECK(mean(Values{70, 10, 40, 20}) == 35);
    CHECK(median(Values{70, 10, 40, 20}) == 30);
    CHECK(mean(Values{1, 2, 3, 100}) == 26.5);
    CHECK(median(Values{1, 2, 3, 100}) == 2.5);
}

TEST_CASE("OPEN-17: median of an odd count is the middle value of the sorted list",
          "[bench][pure]") {
    CHECK(median(Values{9, 1, 5}) == 5);
    CHECK(median(Values{7}) == 7);
}

TEST_CASE("statistics leave their input as it was", "[bench][pure]") {
    const Values before{70, 10, 40, 20, 60, 30};
    Values values = before;
    (void)median(values);
    (void)percentile(values, 95);
    (void)median_interval(values);
    CHECK(values == before);
}

TEST_CASE("equal values have that value as mean, to the last bit", "[bench][pure]") {
    CHECK(mean(Values(1001, 0.1)) == 0.1);
}

TEST_CASE("mean and median of huge values do not overflow", "[bench][pure]") {
    CHECK(mean(Values{kMax, kMax}) == kMax);
    CHECK(mean(Values{kMax, -kMax}) == 0);
    CHECK(median(Values{kMax, kMax}) == kMax);
}

TEST_CASE("there is no statistic without values, or with one that is not finite", "[bench][pure]") {
    const Values values = GENERATE(Values{}, Values{kNaN}, Values{1, 2, 3, kNaN, 5, 6, 7},
                                   Values{1, 2, 3, kInf, 5, 6}, Values{-kInf, 1, 2, 3, 4, 5});
    CHECK(mean(values) == std::nullopt);
    CHECK(median(values) == std::nullopt);
    CHECK(percentile(values, 50) == std::nullopt);
    CHECK_FALSE(median_interval(values).has_value());
}

TEST_CASE("percentile takes the nearest rank, rounded up", "[bench][pure]") {
    Values twenty;
    for (int i = 20; i >= 1; --i) {
        twenty.push_back(i);
    }
    CHECK(percentile(twenty, 0) == 1);
    CHECK(percentile(twenty, 5) == 1);     // rank 5 % of 20 is exactly 1
    CHECK(percentile(twenty, 5.01) == 2);  // a little more needs the next one
    CHECK(percentile(twenty, 50) == 10);
    CHECK(percentile(twenty, 95) == 19);
    CHECK(percentile(twenty, 100) == 20);
    CHECK(percentile(Values{7}, 5) == 7);
    CHECK(percentile(Values{7}, 95) == 7);
}

TEST_CASE("percentile refuses a percent outside [0, 100]", "[bench][pure]") {
    const double percent = GENERATE(-1.0, 100.5, kNaN);
    CHECK_THROWS_AS((void)percentile(Values{1, 2}, percent), std::invalid_argument);
    CHECK_THROWS_MATCHES((void)percentile(Values{1}, -1), std::invalid_argument,
                         Catch::Matchers::MessageMatches(
                             Catch::Matchers::ContainsSubstring("must lie in [0, 100]")));
}

TEST_CASE("the ranks of the median's interval are those of the exact binomial", "[bench][pure]") {
    for (std::size_t n = 6; n <= 60; ++n) {
        CAPTURE(n);
        const auto ranks = median_rank_interval(n);
        REQUIRE(ranks.has_value());
        CHECK(ranks->low + ranks->high == n + 1);
        CHECK(error_probability(n, ranks->low) <= 0.05);
        CHECK(error_probability(n, ranks->low + 1) > 0.05);
    }
}

TEST_CASE("the ranks of the median's interval match exact values for large n", "[bench][pure]") {
    // n and k from rational arithmetic (Python's fractions), beyond what 64 bits can hold.
    struct Known {
        std::size_t n, low, high;
    };
    const auto known = GENERATE(Known{6, 1, 6}, Known{9, 2, 8}, Known{50, 18, 33},
                                Known{100, 40, 61}, Known{400, 180, 221}, Known{401, 181, 221},
                                Known{1000, 469, 532}, Known{3000, 1446, 1555});
    const auto ranks = median_rank_interval(known.n);
    REQUIRE(ranks.has_value());
    CHECK(ranks->low == known.low);
    CHECK(ranks->high == known.high);
}

TEST_CASE("fewer than six values have no 95 % interval of the median", "[bench][pure]") {
    const std::size_t n = GENERATE(0u, 1u, 2u, 3u, 4u, 5u);
    CHECK_FALSE(median_rank_interval(n).has_value());
    CHECK_FALSE(median_interval(Values(n, 1.0)).has_value());
}

TEST_CASE("the interval of the median holds the values at its ranks", "[bench][pure]") {
    const auto interval = median_interval(Values{60, 10, 90, 20, 80, 30, 70, 40, 50});
    REQUIRE(interval.has_value());
    CHECK(interval->low == 20);
    CHECK(interval->high == 80);
}

}  // namespace
}  // namespace nanoserve
