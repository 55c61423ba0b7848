// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// The curve with two regimes, as two numbers: a fixed floor and a cost per token of history.
#pragma once

#include <optional>
#include <span>

namespace nanoserve {

/// One measured read: a history of `num_tokens` took `time_us` microseconds.
struct CostPoint {
    double num_tokens = 0;  ///< cached history
    double time_us = 0;     ///< of one read, above zero
};

/// time = floor_us + us_per_token * num_tokens, with both coefficients at or above zero.
struct ReadCostFit {
    double floor_us = 0;      ///< what a read costs before its first token
    double us_per_token = 0;  ///< what each token adds
    /// The largest |model / measured - 1| over the points: 0.1 means that no point is off by more
    /// than 10 %.
    double max_relative_residual = 0;

    /// What the model says a read of num_tokens tokens takes, in microseconds.
    [[nodiscard]] double time_us(double num_tokens) const {
        return floor_us + us_per_token * num_tokens;
    }

    /// The history at which floor and read cost the same: below it a faster read helps little.
    /// Empty when a coefficient is zero, for then there is one regime only.
    [[nodiscard]] std::optional<double> crossover_tokens() const;
};

/// The least-squares line on relative residuals, so that a point of 0.1 ms weighs as much as one of
/// 30 ms. A coefficient that comes out below zero is set to zero and the other fitted alone.
///
/// Empty when the points have fewer than two distinct histories, or their range is beyond a double.
/// Throws std::invalid_argument for a history below zero, a time not above zero, inf or NaN.
[[nodiscard]] std::optional<ReadCostFit> fit_read_cost(std::span<const CostPoint> points);

}  // namespace nanoserve
