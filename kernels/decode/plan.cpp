// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <nanoserve/model/require.hpp>

#include <kernels/decode/memory.hpp>
#include <kernels/decode/plan.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <utility>

namespace nanoserve {
namespace {

constexpr std::int64_t kTileTokens = 16;
constexpr std::int64_t kShort = 16;       // tiles: 256 tokens
constexpr std::int64_t kMedium = 64;      // tiles: 1024 tokens
constexpr std::int64_t kLong = 256;       // tiles: 4096 tokens
constexpr std::int64_t kVeryLong = 1024;  // tiles: 16384 tokens
constexpr std::int64_t kHalfLine = 64;    // bytes
constexpr int kMaxWarps = 8;
constexpr int kMaxSplits = 8;                       // the largest cluster that every device takes
constexpr std::int64_t kWorthEvicting = 3'000'000;  // bytes; 16 layers are most of an L2 of 60 MB

// The histories of a batch: a row is that of one KV head of one sequence.
struct Rows {
    const DecodeLoad& load;
    const DecodeDevice& device;
    std::int64_t count = load.num_seqs * load.num_kv_heads;
    std::int64_t num_tiles = (load.max_tokens + kTileTokens - 1) / kTileTokens;  // of each

    [[nodiscard]] std::int64_t most_of_the_sms() const { return device.num_sms * 9 / 10; }

    // How many thread blocks are at work at once, one for each SM: clusters of four and more leave
    // some SMs of a GPC idle.
    [[nodiscard]] std::int64_t sms_for_clusters_of(int size) const {
        return size <= 2 ? device.num_sms : most_of_the_sms();
    }

    // The largest power of two up to `most` that divides the number of KV heads and leaves `wanted`
    // thread blocks.
    [[nodiscard]] int heads_together(int most, std::int64_t wanted = 1) const {
        int heads = 1;
        while (heads < most && load.num_kv_heads % (2 * heads) == 0 &&
               count / (2 * heads) >= wanted) {
            heads *= 2;
        }
        return heads;
    }
};

// Histories of one tile or two: a warp for each, nothing to merge.
DecodePlan cut_tiles(const Rows& rows) {
    const int heads = rows.heads_together(kMaxWarps / 2, rows.most_of_the_sms());
    return {.num_warps = heads, .heads_per_block = heads};
}

// Thread blocks that share a row of few: as many as find an SM at once and are worth their merge.
int splits_of_few(const Rows& rows) {
    constexpr std::int64_t kEnoughForShort = 64, kTilesOfABlock = 4;
    const std::int64_t first_long = rows.load.is_fp8 ? kMedium : kMedium + 1;
    const std::int64_t wanted = rows.num_tiles < first_long ? kEnoughForShort : rows.device.num_sms;
    if (!rows.device.has_clusters || rows.num_tiles < kShort) {
        return 1;
    }
    int splits = 1;
    while (splits < kMaxSplits && rows.count * splits < wanted &&
           rows.count * 2 * splits <= rows.sms_for_clusters_of(2 * splits) &&
           rows.num_tiles >= kTilesOfABlock * 2 * splits) {
        splits *= 2;
    }
    return splits;
}

// No more rows than SMs: thread blocks of one row. A warp has two tiles, unless fewer than four
// warps would be left. Long rows that find no SM more are split all the same, by small thread
// blocks: their lengths may differ.
DecodePlan cut_few_rows(const Rows& rows) {
    DecodePlan plan = {.num_warps = kMaxWarps, .num_splits = splits_of_few(rows)};
    if (plan.num_splits == 1 && rows.num_tiles > kLong && rows.device.has_clusters) {
        return {.num_warps = kMaxWarps / 2, .num_splits = kMaxSplits};
    }
    const std::int64_t tiles = rows.num_tiles / plan.num_splits;
    while (plan.num_warps > tiles || (plan.num_warps > 4 && 2 * plan.num_warps > tiles)) {
        plan.num_warps /= 2;
    }
    return plan;
}

// As many warps for each row as find room on the SMs at once, four or two, with two tiles each.
// Where that is one: one up to 256 tokens, four beyond, since lengths may differ.
DecodePlan cut_in_one_wave(const Rows& rows) {
    int warps = 1;
    while (warps < 4 && rows.count * 2 * warps <= kMaxWarps * rows.device.num_sms &&
           rows.num_tiles >= 2 * 2 * warps) {
        warps *= 2;
    }
    if (warps == 1 && rows.num_tiles > kShort) {
        const int heads = rows.heads_together(2);
        return {.num_warps = 4 * heads, .heads_per_block = heads};
    }
    const int heads =
        rows.heads_together(warps == 1 ? kMaxWarps : 4 / warps, rows.most_of_the_sms());
    return {.num_warps = warps * heads, .heads_per_block = heads};
}

// Long histories of many rows, whose lengths may differ by much: clusters, so that the long ones
// end sooner.
DecodePlan cut_many_rows(const Rows& rows) {
    if (!rows.device.has_clusters) {
        return {.num_warps = kMaxWarps,
                .heads_per_block = rows.heads_together(2, rows.most_of_the_sms())};
    }
    const int heads = rows.heads_together(2);
    if (rows.num_tiles >= kVeryLong) {
        return {.num_warps = kMaxWarps, .heads_per_block = heads, .num_splits = 2};
    }
    return {.num_warps = 2 * heads,
            .heads_per_block = heads,
            .num_splits = rows.num_tiles < kLong ? 4 : kMaxSplits};
}

// KV heads of the shortest rows, two of which share a line of the cache, that a cluster of the
// largest size reads together. 1: it should not.
int heads_in_lines(const Rows& rows, bool are_few) {
    const bool share_lines = rows.load.is_fp8 && rows.load.bytes_per_row <= kHalfLine;
    const bool are_long = are_few ? rows.num_tiles > kLong : rows.num_tiles >= kVeryLong;
    if (!share_lines || !are_long || !rows.device.has_clusters) {
        return 1;
    }
    if (rows.num_tiles >= kVeryLong && rows.heads_together(4, rows.most_of_the_sms()) == 4) {
        return 4;
    }
    constexpr std::int64_t kEnoughClusters = 8;
    return rows.heads_together(2, kEnoughClusters);
}

// Whether all SMs should share the long histories, should there be some.
bool is_worth_balancing(const Rows& rows) {
    constexpr std::int64_t kMaxSeqs = 4096;  // each warp looks at all lengths
    return rows.load.has_workspace && rows.num_tiles >= kVeryLong && rows.load.num_seqs >= 2 &&
           rows.load.num_seqs <= kMaxSeqs && can_balance(rows.load);
}

bool fits(const DecodePlan& plan, const Rows& rows) {
    return divide_memory(plan, rows.load).num_bytes <= rows.device.max_shared_bytes;
}

// Everything but evict_first.
DecodePlan cut(const Rows& rows) {
    if (rows.num_tiles <= 2) {
        return cut_tiles(rows);
    }
    const DecodePlan balanced = {.num_warps = kMaxWarps,
                                 .heads_per_block = rows.heads_together(2, rows.most_of_the_sms()),
                                 .balance = true};
    if (is_worth_balancing(rows) && fits(balanced, rows)) {
        return balanced;
    }
    const bool are_few = rows.count <= rows.device.num_sms;
    if (const int heads = heads_in_lines(rows, are_few); heads > 1) {
        return {.num_warps = kMaxWarps, .heads_per_block = heads, .num_splits = kMaxSplits};
    }
    if (are_few) {
        return cut_few_rows(rows);
    }
    const bool are_two_for_each_sm = rows.count <= 2 * rows.device.num_sms;
    if (rows.num_tiles <= (are_two_for_each_sm ? kLong : kMedium)) {
        return cut_in_one_wave(rows);
    }
    return cut_many_rows(rows);
}

bool is_multiple(const void* pointer, std::int64_t bytes) {
    return reinterpret_cast<std::uintptr_t>(pointer) % static_cast<std::uintptr_t>(bytes) == 0;
}

}  // namespace

bool can_balance(const DecodeLoad& load) {
    const std::int64_t rows = load.num_seqs * load.num_kv_heads;
    const std::int64_t tiles = (load.max_tokens + kTileTokens - 1) / kTileTokens;
    return rows <= kMaxBalancedRows &&
           rows * tiles <= std::numeric_limits<std::int32_t>::max() / 16;
}

DecodeLoad load_of(const PagedAttentionParams& params, bool has_workspace) {
    const KVLayout& layout = params.kv.layout;
    const std::int64_t room = params.max_tokens();
    const std::int64_t window = params.rules.sliding_window;
    const bool hides_some = window > 0 && window < room;
    return {.num_seqs = params.num_seqs,
            .num_kv_heads = layout.num_kv_heads,
            .max_tokens = hides_some ? window : room,
            .bytes_per_row = layout.head_dim * bytes_of(layout.dtype),
            .bytes_of_q_and_out = 2 * params.num_seqs * params.num_q_heads * layout.head_dim *
                                  bytes_of(params.io_dtype),
            .is_fp8 = layout.dtype == DType::fp8_e4m3,
            .has_workspace = has_workspace && !hides_some,
            .group_size = params.num_q_heads / layout.num_kv_heads,
            .room_tokens = room};
}

DecodePlan plan_decode(const DecodeLoad& load, const DecodeDevice& device) {
    require(load.bytes_per_row >= 64 && load.bytes_per_row <= 512, "a row has ", load.bytes_per_row,
            " bytes; paged_decode takes 64 to 512");
    const Rows rows = {load, device};
    const std::int64_t all_bytes =
        2 * rows.count * load.max_tokens * load.bytes_per_row + load.bytes_of_q_and_out;
    DecodePlan plan = cut(rows);
    while (plan.num_warps > 1 && !fits(plan, rows)) {
        plan.num_warps /= 2;
        plan.heads_per_block = std::max(1, plan.heads_per_block / 2);
    }
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
    if (!is_multiple(params.q, together) || params.q_stride % (together / 2) != 0) {
        return join_text("q and q_stride must be multiples of ", together, " bytes");
    }
    if (!is_multiple(params.out, 4)) {
        return "out must be a multiple of 4 bytes";
    }
    constexpr std::int64_t kMaxTokens = std::int64_t{1} << 30;
    if (params.max_tokens() > kMaxTokens) {
        return join_text("max_blocks_per_seq is ", params.max_blocks_per_seq,
                         "; paged_decode takes ", kMaxTokens / layout.block_size);
    }
    return {};
}

}  // namespace nanoserve
