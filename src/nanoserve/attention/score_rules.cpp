// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <nanoserve/attention/score_rules.hpp>
#include <nanoserve/model/require.hpp>

#include <cmath>
#include <limits>
#include <utility>

namespace nanoserve {

void validate_sizes(const ScoreRules& rules) {
    require(rules.sliding_window >= 0, "sliding_window is ", rules.sliding_window,
            "; it must not be negative, and 0 for no window");
    require(rules.logits_soft_cap >= 0.0f && std::isfinite(rules.logits_soft_cap),
            "logits_soft_cap is ", rules.logits_soft_cap,
            "; it must be finite and not negative, and 0 for no cap");
    for (const auto& [name, array] :
         {std::pair{"alibi_slopes", rules.alibi_slopes}, std::pair{"sinks", rules.sinks}}) {
        require(reinterpret_cast<std::uintptr_t>(array) % sizeof(float) == 0, name,
                " is not a multiple of 4 bytes");
    }
}

void validate(const ScoreRules& rules, std::int32_t num_q_heads) {
    validate_sizes(rules);
    for (std::int32_t h = 0; rules.alibi_slopes != nullptr && h < num_q_heads; ++h) {
        require(std::isfinite(rules.alibi_slopes[h]), "alibi_slopes[", h, "] is ",
                rules.alibi_slopes[h], "; it must be finite");
    }
    for (std::int32_t h = 0; rules.sinks != nullptr && h < num_q_heads; ++h) {
        constexpr float kLargest = 1e30f;  // times log2 e it is still a float
        const bool is_none = rules.sinks[h] == -std::numeric_limits<float>::infinity();
        require(is_none || std::abs(rules.sinks[h]) <= kLargest, "sinks[", h, "] is ",
                rules.sinks[h], "; it must be from -1e30 to 1e30, or -inf for no sink");
    }
}

void require_no_rules(const ScoreRules& rules, const char* read) {
    require(!rules.any(), read,
            " has no sliding window, soft cap, ALiBi or sinks; paged_attention_reference and the "
            "GPU's paged_attention have");
}

}  // namespace nanoserve
