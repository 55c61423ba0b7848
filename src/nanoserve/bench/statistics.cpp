// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <nanoserve/bench/statistics.hpp>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

namespace nanoserve {
namespace {

constexpr double kErrorProbability = 0.05;  // of a 95 % interval, both tails together

bool has_answer(std::span<const double> values) {
    const auto is_finite = [](double value) { return std::isfinite(value); };
    return !values.empty() && std::all_of(values.begin(), values.end(), is_finite);
}

std::vector<double> sorted_copy(std::span<const double> values) {
    std::vector<double> sorted(values.begin(), values.end());
    std::sort(sorted.begin(), sorted.end());
    return sorted;
}

// C(n, j) / C(n, n / 2) for j = 0 .. n / 2. Relative to the largest, because C(n, j) and 2^-n leave
// the range of a double beyond n = 1000; what underflows here is too small to count.
std::vector<double> lower_binomial_weights(std::size_t n) {
    std::vector<double> weights(n / 2 + 1);
    weights.back() = 1;
    for (std::size_t j = n / 2; j > 0; --j) {
        weights[j - 1] = weights[j] * static_cast<double>(j) / static_cast<double>(n - j + 1);
    }
    return weights;
}

// The sum over all j = 0 .. n, by symmetry from the lower half.
double total_binomial_weight(std::span<const double> lower_weights, std::size_t n) {
    const double lower_sum = std::accumulate(lower_weights.begin(), lower_weights.end(), 0.0);
    const bool has_unpaired_middle = n % 2 == 0;
    return has_unpaired_middle ? 2 * lower_sum - lower_weights.back() : 2 * lower_sum;
}

}  // namespace

// A running mean: it cannot overflow, and it does not move at all when all values are equal.
std::optional<double> mean(std::span<const double> values) {
    if (!has_answer(values)) {
        return std::nullopt;
    }
    double mean = 0;
    double count = 0;
    for (const double value : values) {
        count += 1;
        mean += value / count - mean / count;
    }
    return mean;
}

std::optional<double> median(std::span<const double> values) {
    if (!has_answer(values)) {
        return std::nullopt;
    }
    const std::vector<double> sorted = sorted_copy(values);
    const std::size_t n = sorted.size();
    return std::midpoint(sorted[(n - 1) / 2], sorted[n / 2]);
}

std::optional<double> percentile(std::span<const double> values, double percent) {
    if (!(percent >= 0 && percent <= 100)) {
        throw std::invalid_argument("percentile: percent is " + std::to_string(percent) +
                                    "; it must lie in [0, 100]");
    }
    if (!has_answer(values)) {
        return std::nullopt;
    }
    // Multiplied before it is divided: 5 * 20 / 100 is exactly 1, 0.05 * 20 need not be.
    const double rank = std::ceil(percent * static_cast<double>(values.size()) / 100);
    return sorted_copy(values)[static_cast<std::size_t>(std::max(rank, 1.0)) - 1];
}

std::optional<RankInterval> median_rank_interval(std::size_t n) {
    const std::vector<double> weights = lower_binomial_weights(n);
    const double tail_limit = kErrorProbability / 2 * total_binomial_weight(weights, n);
    std::size_t k = 0;
    double tail = weights[0];
    while (tail <= tail_limit) {  // ends before the middle: half of the weight is not 2.5 % of it
        tail += weights[++k];
    }
    if (k == 0) {
        return std::nullopt;
    }
    return RankInterval{k, n + 1 - k};
}

std::optional<Interval> median_interval(std::span<const double> values) {
    const std::optional<RankInterval> ranks = median_rank_interval(values.size());
    if (!ranks || !has_answer(values)) {
        return std::nullopt;
    }
    const std::vector<double> sorted = sorted_copy(values);
    return Interval{sorted[ranks->low - 1], sorted[ranks->high - 1]};
}

}  // namespace nanoserve
