// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanoserve/attention/score_rules.hpp>

#include <cmath>
#include <cstdint>

namespace nanoserve::detail {

/// What the rules make of a score of query head `head`, in double precision: for oracles.
/// position: 0 for the newest token, negative for those before it.
[[nodiscard]] inline double ruled_score(const ScoreRules& rules, std::int64_t head, double score,
                                        std::int64_t position) {
    const double cap = rules.logits_soft_cap;
    const double slope = rules.alibi_slopes == nullptr ? 0.0 : double{rules.alibi_slopes[head]};
    const double capped = cap > 0.0 ? cap * std::tanh(score / cap) : score;
    return capped + slope * static_cast<double>(position);
}

}  // namespace nanoserve::detail
