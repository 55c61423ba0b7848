// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanoserve/cache/aligned_buffer.hpp>
#include <nanoserve/cache/block_pool.hpp>
#include <nanoserve/cache/block_tables.hpp>
#include <nanoserve/cache/kv_layout.hpp>
#include <nanoserve/cache/paged_kv_view.hpp>
#include <nanoserve/cache/scatter_kv.hpp>
#include <nanoserve/cache/write_result.hpp>

#include <cstdint>
#include <map>
#include <span>
#include <vector>

namespace nanoserve {

/// Names a sequence of one cache. No cache of the process uses an id again, so that a stale one, or
/// one of another cache, is always noticed.
enum class SeqId : std::int64_t {};

/// Keys and values of many sequences, in blocks scattered over a fixed pool.
///
/// A block id stands for the same place in the pools of all layers, so a sequence has one block
/// table. A forward pass writes layer after layer, so the length is counted per layer: the first
/// layer that reaches a new token takes the block, the others find it there.
///
/// Writes (prefill, append, fork, free) happen whole or leave everything as it was, also when one
/// throws std::bad_alloc since there is no memory for its table, and need the caller's lock. Reads
/// go through view() and batch(), never change the cache, and may run concurrently with each other.
/// A cache that was moved from, or onto itself, holds no sequence and has no layer: calls that name
/// one throw.
class PagedKVCache {
  public:
    /// Allocates num_layers pools for K and as many for V, zeroed. `layout` must describe pools of
    /// their own, such as nhd_layout or hnd_layout. Throws std::invalid_argument on impossible
    /// sizes, OutOfMemory when the memory is not to be had; both name the size.
    PagedKVCache(std::int32_t num_layers, const KVLayout& layout);

    // A pool is large: fork() shares it, and nothing copies it by accident.
    PagedKVCache(const PagedKVCache&) = delete;
    PagedKVCache& operator=(const PagedKVCache&) = delete;
    /// The pools change hands; nothing is copied.
    PagedKVCache(PagedKVCache&&) = default;
    /// The pools change hands; those held before are freed.
    PagedKVCache& operator=(PagedKVCache&&) = default;
    ~PagedKVCache() = default;

    /// The scales of the rows of one layer, all 1 until they are set; only a cache of fp8 has any.
    /// Keeps a copy of the factors of the heads.
    /// @throws std::invalid_argument on an unknown layer, a scale that can't be, and while a
    /// sequence holds tokens of that layer: they would change their values
    void set_scales(std::int32_t layer, const KVScales& scales);

    /// Registers an empty sequence; takes no block.
    [[nodiscard]] SeqId add_sequence();

    /// Adds rows.num_tokens tokens of one layer behind what the sequence holds there. Zero tokens
    /// are fine. Blocks shared with a fork are copied before they are written.
    /// @throws std::invalid_argument on an unknown sequence or layer, a negative count, or null
    /// rows
    WriteResult prefill(SeqId seq, std::int32_t layer, const KVRows& rows);

    /// Adds one token: k and v are [num_kv_heads, head_dim]. Otherwise as prefill.
    WriteResult append(SeqId seq, std::int32_t layer, const float* k, const float* v);

    /// Whether num_tokens more tokens of that layer would find their blocks.
    [[nodiscard]] bool can_append(SeqId seq, std::int32_t layer, std::int64_t num_tokens) const;

    /// A second sequence with the same history, sharing all blocks until one of the two writes into
    /// them.
    [[nodiscard]] SeqId fork(SeqId seq);

    /// Ends a sequence; blocks that nobody else holds return to the pool. Freeing twice throws.
    void free(SeqId seq);

    /// Tokens that the sequence holds in that layer, the newest included.
    [[nodiscard]] std::int64_t seq_len(SeqId seq, std::int32_t layer = 0) const;

    /// logical block -> physical block. Valid until the next write.
    [[nodiscard]] std::span<const BlockId> block_table(SeqId seq) const;

    /// The tables and lengths of some sequences in one layer, ready for a read.
    [[nodiscard]] BlockTables batch(std::span<const SeqId> seqs, std::int32_t layer = 0) const;

    /// Borrows the pools and the scales of one layer. Valid while the cache lives and until
    /// set_scales() of that layer.
    [[nodiscard]] PagedKVView view(std::int32_t layer = 0) const;

    /// Who holds which block.
    [[nodiscard]] const BlockPool& pool() const { return pool_; }
    /// Sizes and strides of the pool of each layer.
    [[nodiscard]] const KVLayout& layout() const { return layout_; }
    /// Layers, each with a K pool and a V pool.
    [[nodiscard]] std::int32_t num_layers() const {
        return static_cast<std::int32_t>(scales_.size());
    }
    /// Sequences that are registered and not yet freed.
    [[nodiscard]] std::int64_t num_seqs() const {
        return static_cast<std::int64_t>(sequences_.size());
    }

  private:
    struct Sequence {
        std::vector<BlockId> block_table;
        std::vector<std::int64_t> num_tokens;  // per layer
    };

    // One factor for the pool and, unless empty, one for each KV head.
    struct OwnScale {
        float tensor = 1.0f;
        std::vector<float> heads;

        OwnScale() = default;
        OwnScale(const KVScale& scale, std::int32_t num_kv_heads);
        [[nodiscard]] KVScale view() const {
            return {.tensor = tensor, .heads = heads.empty() ? nullptr : heads.data()};
        }
    };
    struct LayerScales {
        OwnScale k, v;
    };

    // What a write of tokens [begin, end) has to take from the pool.
    struct WritePlan {
        std::int64_t begin = 0;
        std::int64_t end = 0;
        // Indices into the block table that must be copied before they are written.
        std::vector<std::size_t> shared;
        std::int64_t num_new = 0;  // blocks to be added at the table's end

        [[nodiscard]] std::int64_t blocks_needed() const { return std::ssize(shared) + num_new; }
    };

    WriteResult write(SeqId seq, std::int32_t layer, const KVRows& rows);
    [[nodiscard]] WritePlan plan_write(const Sequence& sequence, std::int32_t layer,
                                       std::int64_t num_tokens) const;
    void grow_table(Sequence& sequence, const WritePlan& plan);
    void copy_block(BlockId from, BlockId to);

    [[nodiscard]] const Sequence& find(SeqId seq) const;
    [[nodiscard]] Sequence& find(SeqId seq);
    void require_layer(std::int32_t layer) const;
    [[nodiscard]] KVScales scales_of(std::int32_t layer) const;
    // From the start of kv_ to the pool of a layer.
    [[nodiscard]] std::int64_t k_offset_bytes(std::int32_t layer) const;
    [[nodiscard]] std::int64_t v_offset_bytes(std::int32_t layer) const;

    KVLayout layout_;
    // [num_layers] pools for K, then as many for V, asked for at once: a system that promises more
    // memory than it has must know all of it before the first page is touched.
    AlignedBuffer kv_;
    BlockPool pool_;                   // after the memory: an impossible size is refused there
    std::vector<LayerScales> scales_;  // [num_layers]; a move leaves none, nor any layer
    std::map<SeqId, Sequence> sequences_;
};

}  // namespace nanoserve
