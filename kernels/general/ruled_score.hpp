// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanoserve/attention/score_rules.hpp>

#include <kernels/general/host_device.hpp>

#include <cmath>
#include <cstdint>
#include <limits>

namespace nanoserve {

/// What the rules make of a score of query head `head`; position: 0 for the newest token, negative
/// for those before it.
NANOSERVE_DEVICE inline float ruled_score(const ScoreRules& rules, std::int32_t head, float score,
                                          std::int64_t position) {
    if (rules.logits_soft_cap > 0.0f) {
        score = rules.logits_soft_cap * std::tanh(score / rules.logits_soft_cap);
    }
    if (rules.alibi_slopes != nullptr) {
        score += rules.alibi_slopes[head] * static_cast<float>(position);
    }
    return score;
}

/// The score without a value of query head `head`; -inf: none.
NANOSERVE_DEVICE inline float sink_of(const ScoreRules& rules, std::int32_t head) {
    return rules.sinks == nullptr ? -std::numeric_limits<float>::infinity() : rules.sinks[head];
}

}  // namespace nanoserve
