// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// The statistics of a microbenchmark, as pure functions of a list of numbers.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

namespace nanoserve {

/// A closed interval, low <= high.
struct Interval {
    double low = 0;   ///< the lower end, included
    double high = 0;  ///< the upper end, included
};

/// Two ranks in a sorted list, counted from 1 as statisticians do; `low + high == n + 1`.
struct RankInterval {
    std::size_t low = 0;   ///< rank of the lower end
    std::size_t high = 0;  ///< rank of the upper end
};

// Every function below answers with an empty optional when there is no value, or when one of the
// values is not finite; so no inf or NaN comes out. The input need not be sorted and isn't changed.

/// The arithmetic mean.
[[nodiscard]] std::optional<double> mean(std::span<const double> values);

/// The middle value; the mean of the two middle ones when their count is even.
[[nodiscard]] std::optional<double> median(std::span<const double> values);

/// The nearest-rank percentile: the smallest value that at least `percent` % of the values do not
/// exceed. It is always one of the values; 0 gives the smallest, 100 the largest.
/// Throws std::invalid_argument when `percent` is outside [0, 100].
[[nodiscard]] std::optional<double> percentile(std::span<const double> values, double percent);

/// The ranks (k, n + 1 - k) between which the true median lies with at least 95 % confidence.
///
/// The number of values below the true median is Bin(n, 1/2), whatever the distribution, so the
/// k-th smallest exceeds it with probability P(Bin(n, 1/2) <= k - 1), and the k-th largest falls
/// short of it with the same one. k is the largest with 2 P(Bin(n, 1/2) <= k - 1) <= 0.05, computed
/// from the exact binomial. Empty for n < 6: even the whole range would be too narrow.
/// Examples: n = 6 gives (1, 6), n = 50 gives (18, 33).
[[nodiscard]] std::optional<RankInterval> median_rank_interval(std::size_t n);

/// The 95 % order-statistic interval of the median: the values at `median_rank_interval`.
[[nodiscard]] std::optional<Interval> median_interval(std::span<const double> values);

}  // namespace nanoserve
