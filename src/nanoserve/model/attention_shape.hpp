// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanoserve/model/dtype.hpp>

#include <cstdint>
#include <initializer_list>
#include <limits>

namespace nanoserve {

/// The sizes that decide what one attention read costs. Query head h reads KV head h /
/// group_size().
struct AttentionShape {
    std::int32_t num_q_heads = 0;   ///< query heads
    std::int32_t num_kv_heads = 0;  ///< heads of K and of V
    std::int32_t head_dim = 0;      ///< elements in one head

    /// Query heads that share one KV head.
    [[nodiscard]] constexpr std::int32_t group_size() const { return num_q_heads / num_kv_heads; }

    /// Bytes of the K and V rows of `num_tokens` tokens, one layer: what every read has to load.
    /// 2^63 - 1 when there are more, which no memory holds.
    [[nodiscard]] constexpr std::int64_t kv_bytes(std::int64_t num_tokens, DType dtype) const {
        constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
        std::int64_t bytes = 2 * bytes_of(dtype);
        for (const std::int64_t factor :
             {num_tokens, std::int64_t{num_kv_heads}, std::int64_t{head_dim}}) {
            if (factor > 0 && bytes > kMost / factor) {
                return kMost;
            }
            bytes *= factor;
        }
        return bytes;
    }

    /// Equal when all sizes are.
    friend constexpr bool operator==(const AttentionShape&, const AttentionShape&) = default;
};

/// Throws std::invalid_argument unless all sizes are positive and num_q_heads is a multiple of
/// num_kv_heads; the message names the sizes.
void validate(const AttentionShape& shape);

}  // namespace nanoserve
