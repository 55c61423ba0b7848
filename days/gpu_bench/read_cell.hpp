// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// One point of a sweep on the GPU: sizes, types, lengths, order of the pool. Pure numbers, no CUDA.
#pragma once

#include <nanoserve/cache/block_tables.hpp>
#include <nanoserve/cache/kv_layout.hpp>
#include <nanoserve/model/attention_shape.hpp>
#include <nanoserve/model/dtype.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace nanoserve::gpu_bench {

/// How long the histories of a batch are.
enum class Pattern : std::uint8_t {
    uniform,  ///< all alike
    ragged,   ///< 1 to 2 seq_len - 1 tokens, drawn with a fixed seed; seq_len is their mean
    skewed,   ///< one of `longest` tokens among others of seq_len
};

/// Order of the rows in a pool.
enum class PoolOrder : std::uint8_t {
    nhd,          ///< [num_blocks, block_size, num_kv_heads, head_dim], K and V apart
    hnd,          ///< [num_blocks, num_kv_heads, block_size, head_dim], K and V apart
    interleaved,  ///< [num_blocks, 2, block_size, num_kv_heads, head_dim], K and V in one pool
};

/// As in the columns `pattern` and `layout`: "uniform", "NHD", ...
[[nodiscard]] std::string_view to_string(Pattern pattern);
[[nodiscard]] std::string_view to_string(PoolOrder order);

/// What is read: a batch of decode queries over one layer.
struct ReadCell {
    AttentionShape shape;       ///< heads and head_dim
    std::int64_t num_seqs = 0;  ///< sequences in the batch
    std::int64_t seq_len = 0;   ///< tokens of each history; see Pattern
    Pattern pattern = Pattern::uniform;
    std::int64_t longest = 65536;  ///< tokens of the long history of a skewed batch
    DType dtype = DType::bf16;     ///< of the pools
    DType io_dtype = DType::bf16;  ///< of q and out
    std::int32_t block_size = 16;  ///< tokens
    PoolOrder order = PoolOrder::nhd;

    friend bool operator==(const ReadCell&, const ReadCell&) = default;
};

/// The column `seq_len`: seq_len, or the mean of a skewed batch.
[[nodiscard]] std::int64_t mean_seq_len(const ReadCell& cell);

/// "32/8/64 bf16 64x1024 ragged NHD 16": what `--cells` looks at.
[[nodiscard]] std::string label_of(const ReadCell& cell);

/// The bf16 cells of data/peers/h200-peers.csv for one shape: batches of 1, 8, 64 and 256, uniform
/// and ragged.
[[nodiscard]] std::vector<ReadCell> peer_cells(const AttentionShape& shape);

/// Lengths and tables, the same in every run. A pool holds exactly the blocks of the batch; which
/// sequence one belongs to, and where in it, is shuffled. max_blocks_per_seq is what the longest
/// history needs.
[[nodiscard]] BlockTables make_tables(const ReadCell& cell);

/// Blocks that the sequences of `tables` use.
[[nodiscard]] std::int64_t num_used_blocks(const BlockTables& tables, std::int32_t block_size);

/// Bytes of the K and V rows of all tokens, one layer: what every read has to load.
[[nodiscard]] std::int64_t kv_bytes(const ReadCell& cell, const BlockTables& tables);

/// The layout of either pool of `num_blocks` blocks.
[[nodiscard]] KVLayout layout_of(const ReadCell& cell, std::int64_t num_blocks);

/// How the reads of a replay go through the layers.
struct Rotation {
    std::int64_t num_layers = 1;  ///< different pools
    std::int64_t num_reads = 1;   ///< in one replay: the layers in turn, a whole number of times

    friend bool operator==(const Rotation&, const Rotation&) = default;
};

/// 400 MB of layers, but no more than 16, as the peers' harness rotates them: below 25 MB a layer
/// they are fewer bytes, and what is still in L2 when its turn comes again is so for them as for
/// us; see report::cache_state(). A replay has 128 reads, or fewer that load 2 GB, so that its
/// start does not count.
[[nodiscard]] Rotation rotation_of(std::int64_t kv_bytes);

/// Reads of one replay for a read that takes about so long: those of the rotation or, when that
/// would be more than 10 ms, each layer once.
[[nodiscard]] std::int64_t reads_of_a_replay(const Rotation& rotation, double predicted_us);

/// The sequences to compare with the oracle: the longest, the shortest and, as far as `max_tokens`
/// reach, others spread evenly; ascending, at least one.
[[nodiscard]] std::vector<std::int64_t> seqs_to_check(const std::vector<std::int32_t>& seq_lens,
                                                      std::int64_t max_tokens);

}  // namespace nanoserve::gpu_bench
