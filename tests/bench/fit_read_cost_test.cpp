// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <nanoserve/bench/fit_read_cost.hpp>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <vector>

namespace nanoserve {
namespace {

using Catch::Matchers::WithinAbs;
using Catch::Matchers::WithinRel;
using Points = std::vector<CostPoint>;

// A few hundred roundings of 2^-53, amplified by the condition of the fit (below 10^3 here).
constexpr double kTolerance = 1e-10;

double sum_of_squared_residuals(const Points& points, double floor_us, double us_per_token) {
    double sum = 0;
    for (const CostPoint& point : points) {
        const double residual = (floor_us + us_per_token * point.num_tokens) / point.time_us - 1;
        sum += residual * residual;
    }
    return sum;
}

// No step that keeps both coefficients at or above zero makes the residuals smaller.
void check_is_the_minimum(const Points& points, const ReadCostFit& fit) {
    const double best = sum_of_squared_residuals(points, fit.floor_us, fit.us_per_token);
    for (const double floor_step : {-0.01, 0.0, 0.01}) {
        for (const double slope_step : {-0.0001, 0.0, 0.0001}) {
            const double floor_us = std::max(fit.floor_us + floor_step, 0.0);
            const double us_per_token = std::max(fit.us_per_token + slope_step, 0.0);
            CHECK(best <= sum_of_squared_residuals(points, floor_us, us_per_token) + 1e-15);
        }
    }
}

TEST_CASE("fit_read_cost recovers an exact floor and slope", "[bench][pure]") {
    Points points;
    for (const double num_tokens : {16, 64, 256, 1024, 4096}) {
        points.push_back({num_tokens, 130 + 0.5 * num_tokens});
    }
    const auto fit = fit_read_cost(points);
    REQUIRE(fit.has_value());
    CHECK_THAT(fit->floor_us, WithinRel(130.0, kTolerance));
    CHECK_THAT(fit->us_per_token, WithinRel(0.5, kTolerance));
    CHECK_THAT(fit->max_relative_residual, WithinAbs(0.0, kTolerance));
    CHECK_THAT(fit->time_us(1000), WithinRel(630.0, kTolerance));
    REQUIRE(fit->crossover_tokens().has_value());
    CHECK_THAT(*fit->crossover_tokens(), WithinRel(260.0, kTolerance));
}

TEST_CASE("fit_read_cost is exact through two points in any order", "[bench][pure]") {
    const auto fit = fit_read_cost(Points{{1024, 40}, {16, 8}});
    REQUIRE(fit.has_value());
    CHECK_THAT(fit->time_us(16), WithinRel(8.0, kTolerance));
    CHECK_THAT(fit->time_us(1024), WithinRel(40.0, kTolerance));
}

TEST_CASE("fit_read_cost weighs relative residuals, so a short read counts as a long one",
          "[bench][pure]") {
    // The long reads are 1 % off their line: absolute weights would take 30 us out of the floor.
    const Points points{{16, 10.16}, {32, 10.32}, {64, 10.64}, {100'000, 1020}, {200'000, 1990}};
    const auto fit = fit_read_cost(points);
    REQUIRE(fit.has_value());
    CHECK_THAT(fit->floor_us, WithinRel(10.0, 0.01));
    CHECK(fit->max_relative_residual < 0.02);
    check_is_the_minimum(points, *fit);
}

TEST_CASE("a floor below zero becomes zero and the slope is fitted alone", "[bench][pure]") {
    const Points points{{10, 1}, {20, 4}, {40, 10}};
    const auto fit = fit_read_cost(points);
    REQUIRE(fit.has_value());
    CHECK(fit->floor_us == 0);
    // Residuals s n / t - 1 with n / t = 10, 5, 4: s = (10 + 5 + 4) / (100 + 25 + 16).
    CHECK_THAT(fit->us_per_token, WithinRel(19.0 / 141.0, kTolerance));
    CHECK_THAT(fit->max_relative_residual, WithinRel(1 - 4 * 19.0 / 141.0, kTolerance));
    CHECK(fit->crossover_tokens() == std::nullopt);
    check_is_the_minimum(points, *fit);
}

TEST_CASE("a slope below zero becomes zero and the floor is fitted alone", "[bench][pure]") {
    const Points points{{10, 4}, {20, 2}};
    const auto fit = fit_read_cost(points);
    REQUIRE(fit.has_value());
    CHECK(fit->us_per_token == 0);
    // Residuals f / t - 1: f = (1/4 + 1/2) / (1/16 + 1/4).
    CHECK_THAT(fit->floor_us, WithinRel(2.4, kTolerance));
    CHECK_THAT(fit->max_relative_residual, WithinRel(0.4, kTolerance));
    CHECK(fit->crossover_tokens() == std::nullopt);
    check_is_the_minimum(points, *fit);
}

TEST_CASE("fit_read_cost needs two distinct histories", "[bench][pure]") {
    const Points points = GENERATE(Points{}, Points{{16, 8}}, Points{{16, 8}, {16, 8}},
                                   Points{{16, 8}, {16, 9}, {16, 10}},
                                   // Their weighted mean is not 1000 but one rounding away.
                                   Points{{1000, 7}, {1000, 7}, {1000, 13}});
    CHECK_FALSE(fit_read_cost(points).has_value());
}

TEST_CASE("fit_read_cost takes an empty history", "[bench][pure]") {
    const auto fit = fit_read_cost(Points{{0, 5}, {10, 15}});
    REQUIRE(fit.has_value());
    CHECK_THAT(fit->floor_us, WithinRel(5.0, kTolerance));
    CHECK_THAT(fit->us_per_token, WithinRel(1.0, kTolerance));
}

TEST_CASE("fit_read_cost refuses points that cannot have been measured", "[bench][pure]") {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    const double inf = std::numeric_limits<double>::infinity();
    const CostPoint bad =
        GENERATE_COPY(CostPoint{-1, 5}, CostPoint{nan, 5}, CostPoint{inf, 5}, CostPoint{10, 0},
                      CostPoint{10, -5}, CostPoint{10, nan}, CostPoint{10, inf});
    CHECK_THROWS_AS(fit_read_cost(Points{{16, 8}, bad, {32, 9}}), std::invalid_argument);
}

TEST_CASE("fit_read_cost of points beyond a double is empty, not NaN", "[bench][pure]") {
    CHECK_FALSE(fit_read_cost(Points{{16, 1e-200}, {32, 1e-190}}).has_value());
    CHECK_FALSE(fit_read_cost(Points{{16, 1e200}, {32, 1e210}}).has_value());
    const ReadCostFit steep{.floor_us = 1e300, .us_per_token = 1e-300};
    CHECK(steep.crossover_tokens() == std::nullopt);
}

}  // namespace
}  // namespace nanoserve
