// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <kernels/decode/memory.hpp>
#include <kernels/decode/partial_layout.hpp>

#include <algorithm>

namespace nanoserve {

DecodeMemory divide_memory(const DecodePlan& plan, const DecodeLoad& load) {
    constexpr int kAlignment = 128;  // addresses in a ring are found by flipping bits 4 to 6
    const auto row_bytes = static_cast<int>(load.bytes_per_row);
    const int head_tiles = (load.group_size + 7) / 8;
    const int steps = row_bytes / (load.is_fp8 ? 1 : 2) / 16;  // fragments of a tile of heads

    const int sharers = plan.num_warps * plan.num_splits / plan.heads_per_block;
    const std::int64_t tiles = (std::max(load.max_tokens, load.room_tokens) + 15) / 16;
    const int most = ring_stages(row_bytes, head_tiles);
    const auto stages = static_cast<int>(
        plan.balance ? most : std::clamp<std::int64_t>((tiles + sharers - 1) / sharers, 1, most));
    const bool merges = plan.balance || sharers > 1;
    const int bytes_of_a_warp = std::max(stages * stage_bytes(row_bytes),
                                         merges ? head_tiles * fragment_set_bytes(steps) : 0);

    const int ring_bytes = (bytes_of_a_warp + kAlignment - 1) / kAlignment * kAlignment;
    const int fragments = head_tiles * steps * plan.heads_per_block;
    const int slots = (fragments + plan.num_splits - 1) / plan.num_splits;
    const int pushed = ring_bytes * plan.num_warps;
    const int pushed_bytes = slots * PushedFragment::kBytes;
    const int barrier = pushed + plan.num_splits * pushed_bytes;
    return {.ring_bytes = ring_bytes,
            .pushed = pushed,
            .pushed_bytes = pushed_bytes,
            .barrier = barrier,
            .num_bytes = plan.num_splits == 1 ? pushed : barrier + 16};
}

}  // namespace nanoserve
