// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <type_traits>

namespace nanoserve {

/// What some models ask of a score beyond its scale; nothing by default. Borrows the arrays. In
/// this order, for query head h and token t of a sequence:
/// @code
/// s = sm_scale * dot(q, K[t])
/// s = cap * tanh(s / cap)                   logits_soft_cap
/// s = s + slopes[h] * (t - (seq_len - 1))   ALiBi: 0 for the newest token
/// softmax over tokens [first_token(seq_len), seq_len) and, with sinks, over sinks[h] as well
/// @endcode
/// A sink takes weight and has no value: it makes the weights of the tokens add up to less than 1.
/// It counts in lse, and is all of it where no token is visible.
struct ScoreRules {
    std::int64_t sliding_window = 0;  ///< newest tokens that are visible; 0: all are
    float logits_soft_cap = 0.0f;     ///< largest magnitude of a score; 0: any
    /// [num_q_heads], ALiBi's slopes; nullptr: none. A device pointer for a read on the GPU
    const float* alibi_slopes = nullptr;
    /// [num_q_heads], scores without a value, from -1e30 to 1e30, or -inf for none; nullptr: no
    /// sinks. A device pointer for a read on the GPU
    const float* sinks = nullptr;

    /// Whether a score depends on more than q, K and sm_scale.
    [[nodiscard]] constexpr bool change_scores() const {
        return logits_soft_cap != 0.0f || alibi_slopes != nullptr;
    }
    /// Whether there is any rule.
    [[nodiscard]] constexpr bool any() const {
        return sliding_window != 0 || change_scores() || sinks != nullptr;
    }
    /// The first visible token of a sequence. Those before it are not read, nor are their entries
    /// of the block table followed.
    [[nodiscard]] constexpr std::int64_t first_token(std::int64_t seq_len) const {
        return sliding_window > 0 && sliding_window < seq_len ? seq_len - sliding_window : 0;
    }
};

static_assert(std::is_trivially_copyable_v<ScoreRules>, "a kernel takes them by value");

/// Checks what can be checked without following the arrays, which may be device memory.
/// @throws std::invalid_argument for a negative window, a cap that is negative or not finite, an
/// array that is not a multiple of 4 bytes; the message names it
void validate_sizes(const ScoreRules& rules);

/// The same and the arrays, from host memory.
/// @throws std::invalid_argument also for a slope that is not finite, and a sink that is NaN or
/// beyond 1e30; -infinity is no sink
void validate(const ScoreRules& rules, std::int32_t num_q_heads);

/// For reads that have no rules.
/// read: its name, for the message
/// @throws std::invalid_argument if there is one
void require_no_rules(const ScoreRules& rules, const char* read);

}  // namespace nanoserve
