// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanoserve/attention/paged_attention_params.hpp>

#include <kernels/general/host_device.hpp>
#include <kernels/shared_heads/config.hpp>
#include <kernels/shared_heads/token_range.hpp>

#include <algorithm>
#include <cstdint>

namespace nanoserve {

/// A split begins at a multiple of so many tokens: the reads of neighbouring rows of a block stay
/// together.
constexpr std::int32_t kSplitUnit = 16;

//! [split range]
/// The tokens of split `split_idx` of `num_splits`: all splits together have each of the seq_len
/// tokens once, and none has more than kSplitUnit tokens more than another: the units that are left
/// over go to the first splits. Where there are fewer units than splits, the last ones are empty.
NANOSERVE_DEVICE inline TokenRange split_range(std::int32_t seq_len, std::int32_t num_splits,
                                               std::int32_t split_idx) {
    const std::int32_t num_units = (seq_len + kSplitUnit - 1) / kSplitUnit;
    const std::int32_t each = num_units / num_splits;
    const std::int32_t left_over = num_units % num_splits;
    const std::int32_t before = split_idx < left_over ? split_idx : left_over;
    const std::int32_t begin = (split_idx * each + before) * kSplitUnit;
    const std::int32_t end = begin + (each + (split_idx < left_over ? 1 : 0)) * kSplitUnit;
    return {.begin = begin < seq_len ? begin : seq_len, .end = end < seq_len ? end : seq_len};
}
//! [split range]

/// Splits that split_kv_attention takes, at most.
constexpr std::int32_t kMaxSplits = 1024;

/// What the number of splits depends on.
struct SplitLoad {
    std::int64_t thread_blocks = 0;  ///< that read one part of each history: num_group_blocks()
    std::int64_t max_tokens = 0;     ///< of one sequence: what its table row has room for
};

/// Thread blocks that an SM has room for at the same time.
constexpr std::int64_t kSplitBlocksPerSm = 2;

/// A split has no fewer tokens: 8 warps with a tile of 16 each.
constexpr std::int64_t kMinSplitTokens = 128;

//! [choose num splits]
/// As many splits as give each place on the chip one thread block, and no more than leave each
/// split kMinSplitTokens: a second round of thread blocks costs more than idle places, and a
/// shorter split less than its merge. The lengths themselves may change under a captured graph: the
/// rule asks only for their limit.
[[nodiscard]] inline std::int32_t choose_num_splits(const SplitLoad& load, std::int32_t num_sms) {
    const std::int64_t places = num_sms * kSplitBlocksPerSm;
    const std::int64_t filling = places / std::max<std::int64_t>(load.thread_blocks, 1);
    const std::int64_t useful = load.max_tokens / kMinSplitTokens;
    const std::int64_t splits = std::min({filling, useful, std::int64_t{kMaxSplits}});
    return static_cast<std::int32_t>(std::max<std::int64_t>(splits, 1));
}
//! [choose num splits]

/// The same for a batch of this shape, which shared_heads_attention takes. Reads sizes alone.
/// @throws std::invalid_argument as validate_shape() does
[[nodiscard]] inline std::int32_t choose_num_splits(const PagedAttentionParams& params,
                                                    std::int32_t num_sms) {
    validate_shape(params);
    return choose_num_splits(
        SplitLoad{.thread_blocks = num_group_blocks(params), .max_tokens = params.max_tokens()},
        num_sms);
}

}  // namespace nanoserve
