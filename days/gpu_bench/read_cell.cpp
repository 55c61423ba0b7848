// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include "read_cell.hpp"

#include <nanoserve/model/require.hpp>

#include <algorithm>
#include <limits>
#include <numeric>
#include <random>
#include <set>

namespace nanoserve::gpu_bench {
namespace {

using Random = std::mt19937;

std::vector<std::int32_t> draw_lengths(const ReadCell& cell, Random& random) {
    std::vector<std::int32_t> lengths(static_cast<std::size_t>(cell.num_seqs),
                                      static_cast<std::int32_t>(cell.seq_len));
    if (cell.pattern == Pattern::ragged) {
        for (std::int32_t& length : lengths) {
            length = static_cast<std::int32_t>(1 + static_cast<std::int64_t>(random()) %
                                                       (2 * cell.seq_len - 1));
        }
    } else if (cell.pattern == Pattern::skewed) {
        lengths[lengths.size() / 3] = static_cast<std::int32_t>(cell.longest);
    }
    return lengths;
}

void require_possible(const ReadCell& cell) {
    constexpr std::int64_t kMaxTokens = std::numeric_limits<std::int32_t>::max() / 2;
    require(cell.num_seqs >= 1, "num_seqs is ", cell.num_seqs, "; a cell has at least 1");
    require(cell.seq_len >= 1 && cell.seq_len <= kMaxTokens, "seq_len is ", cell.seq_len,
            "; a cell has 1 to ", kMaxTokens, " tokens");
}

}  // namespace

std::string_view to_string(Pattern pattern) {
    switch (pattern) {
        case Pattern::ragged:
            return "ragged";
        case Pattern::skewed:
            return "skewed";
        case Pattern::uniform:
            break;
    }
    return "uniform";
}

std::string_view to_string(PoolOrder order) {
    switch (order) {
        case PoolOrder::hnd:
            return "HND";
        case PoolOrder::interleaved:
            return "interleaved";
        case PoolOrder::nhd:
            break;
    }
    return "NHD";
}

std::int64_t mean_seq_len(const ReadCell& cell) {
    return cell.pattern == Pattern::skewed
               ? (cell.longest + (cell.num_seqs - 1) * cell.seq_len) / cell.num_seqs
               : cell.seq_len;
}

std::string label_of(const ReadCell& cell) {
    return join_text(cell.shape.num_q_heads, '/', cell.shape.num_kv_heads, '/', cell.shape.head_dim,
                     ' ', to_string(cell.dtype), ' ', cell.num_seqs, 'x', mean_seq_len(cell), ' ',
                     to_string(cell.pattern), ' ', to_string(cell.order), ' ', cell.block_size);
}

std::vector<ReadCell> peer_cells(const AttentionShape& shape) {
    struct Batch {
        std::int64_t num_seqs, longest;
    };
    std::vector<ReadCell> cells;
    for (const Batch batch :
         {Batch{1, 131072}, Batch{8, 65536}, Batch{64, 16384}, Batch{256, 16384}}) {
        for (const std::int64_t seq_len : {16, 256, 1024, 4096, 16384, 65536, 131072}) {
            if (seq_len > batch.longest) {
                break;
            }
            cells.push_back({.shape = shape, .num_seqs = batch.num_seqs, .seq_len = seq_len});
            if (batch.num_seqs >= 64 && (seq_len == 1024 || seq_len == 4096)) {
                cells.push_back(cells.back());
                cells.back().pattern = Pattern::ragged;
            }
        }
    }
    return cells;
}

BlockTables make_tables(const ReadCell& cell) {
    require_possible(cell);
    Random random(static_cast<std::uint32_t>(cell.num_seqs * 131 + cell.seq_len));
    BlockTables tables;
    tables.seq_lens = draw_lengths(cell, random);
    tables.max_blocks_per_seq =
        blocks_needed(*std::ranges::max_element(tables.seq_lens), cell.block_size);
    std::vector<BlockId> ids(static_cast<std::size_t>(num_used_blocks(tables, cell.block_size)));
    std::iota(ids.begin(), ids.end(), 0);
    std::shuffle(ids.begin(), ids.end(), random);

    tables.block_tables.assign(static_cast<std::size_t>(cell.num_seqs * tables.max_blocks_per_seq),
                               BlockTables::kNoBlock);
    auto next = ids.begin();
    auto row = tables.block_tables.begin();
    for (const std::int32_t length : tables.seq_lens) {
        const std::int64_t count = blocks_needed(length, cell.block_size);
        std::copy_n(next, count, row);
        next += count;
        row += tables.max_blocks_per_seq;
    }
    return tables;
}

std::int64_t num_used_blocks(const BlockTables& tables, std::int32_t block_size) {
    std::int64_t count = 0;
    for (const std::int32_t length : tables.seq_lens) {
        count += blocks_needed(length, block_size);
    }
    return count;
}

std::int64_t kv_bytes(const ReadCell& cell, const BlockTables& tables) {
    const std::int64_t num_tokens =
        std::accumulate(tables.seq_lens.begin(), tables.seq_lens.end(), std::int64_t{0});
    return cell.shape.kv_bytes(num_tokens, cell.dtype);
}

KVLayout layout_of(const ReadCell& cell, std::int64_t num_blocks) {
    const PoolShape shape = {.dtype = cell.dtype,
                             .num_blocks = static_cast<std::int32_t>(num_blocks),
                             .block_size = cell.block_size,
                             .num_kv_heads = cell.shape.num_kv_heads,
                             .head_dim = cell.shape.head_dim};
    switch (cell.order) {
        case PoolOrder::hnd:
            return hnd_layout(shape);
        case PoolOrder::interleaved:
            return interleaved_layout(shape);
        case PoolOrder::nhd:
            break;
    }
    return nhd_layout(shape);
}

Rotation rotation_of(std::int64_t kv_bytes) {
    constexpr std::int64_t kRotatedBytes = 400'000'000;
    constexpr std::int64_t kMaxLayers = 16;
    constexpr std::int64_t kReplayReads = 128;
    constexpr std::int64_t kReplayBytes = 2'000'000'000;
    const auto divide_up = [](std::int64_t a, std::int64_t b) { return (a + b - 1) / b; };
    const std::int64_t num_layers =
        std::clamp<std::int64_t>(divide_up(kRotatedBytes, kv_bytes), 1, kMaxLayers);
    const std::int64_t wanted = std::min(kReplayReads, divide_up(kReplayBytes, kv_bytes));
    return {.num_layers = num_layers,
            .num_reads = num_layers * std::max<std::int64_t>(divide_up(wanted, num_layers), 1)};
}

std::int64_t reads_of_a_replay(const Rotation& rotation, double predicted_us) {
    constexpr double kLongEnoughUs = 10'000;
    return static_cast<double>(rotation.num_reads) * predicted_us > kLongEnoughUs
               ? rotation.num_layers
               : rotation.num_reads;
}

std::vector<std::int64_t> seqs_to_check(const std::vector<std::int32_t>& seq_lens,
                                        std::int64_t max_tokens) {
    const auto longest = std::ranges::max_element(seq_lens);
    const auto shortest = std::ranges::min_element(seq_lens);
    std::set<std::int64_t> seqs = {longest - seq_lens.begin(), shortest - seq_lens.begin()};
    const std::int64_t left = max_tokens - *longest - *shortest;
    const auto num_seqs = std::ssize(seq_lens);
    const std::int64_t count = std::clamp<std::int64_t>(left / *longest, 0, num_seqs);
    for (std::int64_t i = 0; i < count; ++i) {
        seqs.insert(i * num_seqs / count);
    }
    return {seqs.begin(), seqs.end()};
}

}  // namespace nanoserve::gpu_bench
