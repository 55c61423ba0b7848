// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <nanoserve/bench/fit_read_cost.hpp>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

namespace nanoserve {
namespace {

void require_valid(const CostPoint& point) {
    if (!std::isfinite(point.num_tokens) || point.num_tokens < 0) {
        throw std::invalid_argument("fit_read_cost: num_tokens is " +
                                    std::to_string(point.num_tokens) +
                                    "; it must be finite and not below 0");
    }
    if (!std::isfinite(point.time_us) || point.time_us <= 0) {
        throw std::invalid_argument("fit_read_cost: time_us is " + std::to_string(point.time_us) +
                                    "; it must be finite and above 0");
    }
}

bool has_two_histories(std::span<const CostPoint> points) {
    return std::any_of(points.begin(), points.end(), [&](const CostPoint& point) {
        return point.num_tokens != points.front().num_tokens;
    });
}

// Least squares on r = model / t - 1 is least squares on model - t with the weights 1 / t^2.
double weight(const CostPoint& point) {
    return 1 / (point.time_us * point.time_us);
}

template <class Term>
double weighted_sum(std::span<const CostPoint> points, Term term) {
    double sum = 0;
    for (const CostPoint& point : points) {
        sum += weight(point) * term(point.num_tokens, point.time_us);
    }
    return sum;
}

// With n and t measured from their weighted means, the line goes through the origin.
ReadCostFit fit_both(std::span<const CostPoint> points) {
    const double total = weighted_sum(points, [](double, double) { return 1.0; });
    const double n_mean = weighted_sum(points, [](double n, double) { return n; }) / total;
    const double t_mean = weighted_sum(points, [](double, double t) { return t; }) / total;
    const double n_t =
        weighted_sum(points, [&](double n, double t) { return (n - n_mean) * (t - t_mean); });
    const double n_n =
        weighted_sum(points, [&](double n, double) { return (n - n_mean) * (n - n_mean); });
    const double slope = n_t / n_n;
    return {.floor_us = t_mean - slope * n_mean, .us_per_token = slope};
}

ReadCostFit fit_floor_alone(std::span<const CostPoint> points) {
    const double total = weighted_sum(points, [](double, double) { return 1.0; });
    return {.floor_us = weighted_sum(points, [](double, double t) { return t; }) / total};
}

ReadCostFit fit_slope_alone(std::span<const CostPoint> points) {
    const double n_n = weighted_sum(points, [](double n, double) { return n * n; });
    return {.us_per_token = weighted_sum(points, [](double n, double t) { return n * t; }) / n_n};
}

// Both cannot be negative at once: the weighted residuals of the fit sum to zero, and all t > 0.
ReadCostFit fit_not_negative(std::span<const CostPoint> points) {
    const ReadCostFit fit = fit_both(points);
    if (fit.floor_us < 0) {
        return fit_slope_alone(points);
    }
    return fit.us_per_token < 0 ? fit_floor_alone(points) : fit;
}

double max_relative_residual(const ReadCostFit& fit, std::span<const CostPoint> points) {
    double largest = 0;
    for (const CostPoint& point : points) {
        largest = std::max(largest, std::abs(fit.time_us(point.num_tokens) / point.time_us - 1));
    }
    return largest;
}

bool is_finite(const ReadCostFit& fit) {
    return std::isfinite(fit.floor_us) && std::isfinite(fit.us_per_token) &&
           std::isfinite(fit.max_relative_residual);
}

}  // namespace

std::optional<double> ReadCostFit::crossover_tokens() const {
    if (floor_us <= 0 || us_per_token <= 0) {
        return std::nullopt;
    }
    const double crossover = floor_us / us_per_token;
    return std::isfinite(crossover) ? std::optional(crossover) : std::nullopt;
}

std::optional<ReadCostFit> fit_read_cost(std::span<const CostPoint> points) {
    std::for_each(points.begin(), points.end(), require_valid);
    if (!has_two_histories(points)) {
        return std::nullopt;
    }
    ReadCostFit fit = fit_not_negative(points);
    fit.max_relative_residual = max_relative_residual(fit, points);
    return is_finite(fit) ? std::optional(fit) : std::nullopt;
}

}  // namespace nanoserve
