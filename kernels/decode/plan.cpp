// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <nanoserve/model/require.hpp>

#include <kernels/decode/plan.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <utility>

namespace nanoserve {
namespace {

constexpr std::int64_t kTileTokens = 16;
constexpr std::int64_t kShort = 16;     // tiles: 256 tokens
constexpr std::int64_t kMedium = 64;    // tiles: 1024 tokens
constexpr std::int64_t kLonger = 256;   // tiles: 4096 tokens
constexpr std::int64_t kLong = 1024;    // tiles: 16384 tokens
constexpr std::int64_t kShortRow = 64;  // bytes
constexpr std::int64_t kWideRow = 256;  // bytes
constexpr int kMaxWarps = 8;
constexpr int kMaxSplits = 8;                       // the largest cluster that every device takes
constexpr std::int64_t kWorthEvicting = 4'000'000;  // bytes; 16 layers of it fill an L2 of 60 MB

// The largest power of two up to `most` that divides the number of KV heads and leaves `wanted`
// thread blocks.
int heads_together(const DecodeLoad& load, int most, std::int64_t wanted) {
    int heads = 1;
    while (heads < most && load.num_kv_heads % (2 * heads) == 0 &&
           load.num_seqs * load.num_kv_heads / (2 * heads) >= wanted) {
        heads *= 2;
    }
    return heads;
}

int heads_together(const DecodeLoad& load, std::int64_t num_tiles, std::int64_t most_of_the_sms) {
    if (num_tiles <= kShort) {
        return heads_together(load, kMaxWarps, load.is_fp8 ? most_of_the_sms : most_of_the_sms / 2);
    }
    const int many = heads_together(load, kMaxWarps, 8 * most_of_the_sms);
    const int few = num_tiles >= kLong ? 4 : load.bytes_per_row < kWideRow ? 2 : 1;
    return many >= few ? many : heads_together(load, few, most_of_the_sms);
}

// Thread blocks that a batch of single KV heads should have.
std::int64_t wanted_thread_blocks(const DecodeLoad& load, std::int64_t num_tiles,
                                  std::int64_t most_of_the_sms) {
    if (num_tiles < kShort) {
        return 1;
    }
    if (num_tiles < kMedium) {
        return 32;
    }
    const bool few_are_enough = num_tiles < kLonger || load.bytes_per_row < kWideRow;
    return few_are_enough && !load.is_fp8 ? 64 : most_of_the_sms;
}

// Several KV heads for each thread block, with two warps each, where that leaves two thread blocks
// for each SM.
std::optional<DecodePlan> cut_by_warp_pairs(const DecodeLoad& load, std::int64_t num_tiles,
                                            std::int64_t most_of_the_sms) {
    const int heads = heads_together(load, kMaxWarps, 2 * most_of_the_sms);
    if (num_tiles > kMedium || heads == 1) {
        return {};
    }
    return DecodePlan{.num_warps = std::min(2 * heads, kMaxWarps), .heads_per_block = heads};
}

// Pairs of short rows whose lengths may differ by much.
bool are_uneven_pairs(const DecodeLoad& load, std::int64_t num_tiles, int heads_per_block) {
    return heads_per_block == 2 && load.bytes_per_row < kWideRow && num_tiles > kMedium &&
           num_tiles < kLong;
}

// KV heads of the shortest rows, two of which share a line of the cache, that a cluster of the
// largest size reads together. 1: it should not.
int heads_in_lines(const DecodeLoad& load, std::int64_t num_tiles, std::int64_t most_of_the_sms) {
    if (!load.is_fp8 || load.bytes_per_row > kShortRow || num_tiles < kLonger) {
        return 1;
    }
    if (heads_together(load, 4, most_of_the_sms) == 4) {
        return 4;
    }
    return num_tiles < kLong ? 1 : heads_together(load, 2, most_of_the_sms / kMaxSplits);
}

// Clusters that read long histories of short rows.
std::optional<DecodePlan> cut_short_rows(const DecodeLoad& load, std::int64_t num_tiles,
                                         std::int64_t most_of_the_sms, int heads_per_block) {
    const int in_lines = heads_in_lines(load, num_tiles, most_of_the_sms);
    if (in_lines > 1) {
        return DecodePlan{
            .num_warps = kMaxWarps, .heads_per_block = in_lines, .num_splits = kMaxSplits};
    }
    if (are_uneven_pairs(load, num_tiles, heads_per_block)) {
        return DecodePlan{.num_warps = kMaxWarps / 2,
                          .heads_per_block = heads_per_block,
                          .num_splits = num_tiles < kLonger ? 4 : kMaxSplits};
    }
    return {};
}

// A warp has two tiles, or one where histories are short.
void drop_idle_warps(std::int64_t num_tiles, DecodePlan& plan) {
    const std::int64_t tiles_of_a_warp = num_tiles <= kShort ? 1 : 2;
    while (plan.num_warps > plan.heads_per_block &&
           num_tiles <
               tiles_of_a_warp * plan.num_splits * (plan.num_warps / plan.heads_per_block)) {
        plan.num_warps /= 2;
    }
}

int splits(std::int64_t wanted, std::int64_t thread_blocks) {
    int splits = 1;
    while (splits < kMaxSplits && thread_blocks * splits < wanted) {
        splits *= 2;
    }
    return splits;
}

// Whether all SMs should share the long histories, should there be some. All counts of the schedule
// must fit 31 bits.
bool is_worth_balancing(const DecodeLoad& load, std::int64_t num_tiles) {
    constexpr std::int64_t kMaxSeqs = 4096;  // each warp looks at all lengths
    return load.has_workspace && num_tiles >= kLong && load.num_seqs >= 2 &&
           load.num_seqs <= kMaxSeqs &&
           load.num_seqs * load.num_kv_heads * num_tiles <= std::numeric_limits<int>::max() / 16;
}

bool is_multiple(const void* pointer, std::int64_t bytes) {
    return reinterpret_cast<std::uintptr_t>(pointer) % static_cast<std::uintptr_t>(bytes) == 0;
}

// Histories of one tile or two: nothing is merged.
DecodePlan cut_tiles(const DecodeLoad& load, std::int64_t num_tiles, std::int64_t most_of_the_sms) {
    const int heads =
        load.bytes_per_row < kWideRow ? heads_together(load, num_tiles, most_of_the_sms) : 1;
    return {.num_warps = heads, .heads_per_block = heads};
}

// Everything but evict_first.
DecodePlan cut(const DecodeLoad& load, std::int64_t num_tiles, const DecodeDevice& device) {
    const std::int64_t most_of_the_sms = device.num_sms * 9 / 10;
    if (num_tiles <= 2) {
        return cut_tiles(load, num_tiles, most_of_the_sms);
    }
    if (const auto plan = cut_by_warp_pairs(load, num_tiles, most_of_the_sms)) {
        return *plan;
    }
    if (is_worth_balancing(load, num_tiles)) {
        return {.num_warps = kMaxWarps,
                .heads_per_block = heads_together(load, 2, most_of_the_sms),
                .balance = true};
    }
    DecodePlan plan = {.num_warps = kMaxWarps,
                       .heads_per_block = heads_together(load, num_tiles, most_of_the_sms)};
    if (device.has_clusters) {
        if (const auto short_rows =
                cut_short_rows(load, num_tiles, most_of_the_sms, plan.heads_per_block)) {
            return *short_rows;
        }
        if (plan.heads_per_block == 1) {
            plan.num_splits = splits(wanted_thread_blocks(load, num_tiles, most_of_the_sms),
                                     load.num_seqs * load.num_kv_heads);
        }
    }
    drop_idle_warps(num_tiles, plan);
    return plan;
}

}  // namespace

DecodePlan plan_decode(const DecodeLoad& load, const DecodeDevice& device) {
    const std::int64_t all_bytes =
        2 * load.num_seqs * load.num_kv_heads * load.max_tokens * load.bytes_per_row;
    DecodePlan plan = cut(load, (load.max_tokens + kTileTokens - 1) / kTileTokens, device);
    plan.evict_first = plan.balance || all_bytes >= kWorthEvicting;
    return plan;
}

std::optional<std::string> reason_not_to_decode(const PagedAttentionParams& params) {
    const KVLayout& layout = params.kv.layout;
    const std::int64_t bytes = bytes_of(layout.dtype);
    const bool is_fp8 = layout.dtype == DType::fp8_e4m3;
    if (params.io_dtype == DType::fp32 || (!is_fp8 && params.io_dtype != layout.dtype)) {
        return "paged_decode takes bf16 or fp16 for q and out, and the same or fp8_e4m3 for the "
               "pool";
    }
    if (params.rules.change_scores()) {
        return "paged_decode takes no soft cap and no ALiBi";
    }
    constexpr std::array kHeadDims = {64, 128, 256, 96, 192};
    const auto end = is_fp8 ? kHeadDims.begin() + 3 : kHeadDims.end();
    if (std::find(kHeadDims.begin(), end, layout.head_dim) == end) {
        return join_text("head_dim is ", layout.head_dim, "; paged_decode takes 64, ",
                         is_fp8 ? "128 and 256 of fp8_e4m3" : "96, 128, 192 and 256");
    }
    const std::int32_t group_size = params.num_q_heads / layout.num_kv_heads;
    if (group_size > 16) {
        return join_text("a group has ", group_size, " query heads; paged_decode takes 16");
    }
    if (!std::has_single_bit(static_cast<unsigned>(layout.block_size))) {
        return join_text("block_size is ", layout.block_size, "; paged_decode takes powers of two");
    }
    for (const auto& [name, stride] : {std::pair{"block_stride", layout.block_stride},
                                       std::pair{"token_stride", layout.token_stride},
                                       std::pair{"head_stride", layout.head_stride}}) {
        if (stride * bytes % 16 != 0 ||
            stride * bytes * kTileTokens > std::numeric_limits<std::uint32_t>::max()) {
            return join_text(name, " is ", stride * bytes,
                             " bytes; paged_decode takes multiples of 16 below 2^28");
        }
    }
    if (!is_multiple(params.kv.k_cache, 16) || !is_multiple(params.kv.v_cache, 16)) {
        return "k_cache and v_cache must be multiples of 16 bytes";
    }
    const std::int64_t together = is_fp8 ? 8 : 4;  // bytes of q that a lane loads at once
    if (!is_multiple(params.q, together) || params.q_stride * 2 % together != 0) {
        return join_text("q and q_stride must be multiples of ", together, " bytes");
    }
    if (!is_multiple(params.out, 4)) {
        return "out must be a multiple of 4 bytes";
    }
    constexpr std::int64_t kMaxTokens = std::int64_t{1} << 30;
    if (params.max_blocks_per_seq * layout.block_size > kMaxTokens) {
        return join_text("max_blocks_per_seq is ", params.max_blocks_per_seq,
                         "; paged_decode takes ", kMaxTokens / layout.block_size);
    }
    return {};
}

}  // namespace nanoserve
