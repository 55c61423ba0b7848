// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanoserve/cache/kv_layout.hpp>
#include <nanoserve/cache/paged_kv_cache.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace nanoserve::testing {

/// What a cache should hold, kept as simply as can be: every token is a number of its own, every
/// block a name that is never used again. Predicts which writes fit.
class CacheModel {
  public:
    struct Sequence {
        std::vector<std::int64_t> blocks;                // names
        std::vector<std::vector<std::uint32_t>> tokens;  // [num_layers], numbers
    };

    CacheModel(std::int32_t num_layers, const KVLayout& layout)
        : num_layers_(num_layers), layout_(layout) {}

    void add(SeqId seq);
    void fork(SeqId parent, SeqId child);
    void free(SeqId seq);

    /// Blocks that a write would have to take.
    [[nodiscard]] std::int64_t blocks_wanted(SeqId seq, std::int32_t layer,
                                             std::int64_t num_tokens) const;
    /// The write itself, of tokens first, first + 1, ...
    void write(SeqId seq, std::int32_t layer, std::int64_t num_tokens, std::uint32_t first);

    [[nodiscard]] std::int64_t num_free() const {
        return layout_.num_blocks - std::ssize(holders_);
    }
    [[nodiscard]] const std::map<SeqId, Sequence>& sequences() const { return sequences_; }
    [[nodiscard]] std::int32_t holders(std::int64_t block) const { return holders_.at(block); }

  private:
    [[nodiscard]] std::int64_t take_block();
    void drop_block(std::int64_t block);

    std::int32_t num_layers_;
    KVLayout layout_;
    std::map<SeqId, Sequence> sequences_;
    std::map<std::int64_t, std::int32_t> holders_;  // of each live block
    std::int64_t next_block_ = 0;
};

/// Element d of head h of token `token`: a whole number below 251, which every storage type holds
/// but fp8, which rounds it.
[[nodiscard]] float token_element(std::uint32_t token, bool is_key, std::int32_t layer,
                                  std::int64_t h, std::int64_t d);

/// The rows of tokens first, first + 1, ... as a write takes them: [num_tokens, heads, head_dim].
[[nodiscard]] std::vector<float> token_rows(const KVLayout& layout, std::uint32_t first,
                                            std::int64_t num_tokens, bool is_key,
                                            std::int32_t layer);

/// How sequence `seq` of the cache differs from the model; nothing when it does not: lengths, the
/// blocks that it shares, their holders, and the contents of every `stride`-th token from the last
/// one back.
[[nodiscard]] std::optional<std::string> fault_of_sequence(const PagedKVCache& cache,
                                                           const CacheModel& model, SeqId seq,
                                                           std::int64_t stride = 1);

/// The same for the whole cache: free and used blocks, holders, one block for each name and one
/// name for each block, and all sequences.
[[nodiscard]] std::optional<std::string> fault_of_cache(const PagedKVCache& cache,
                                                        const CacheModel& model,
                                                        std::int64_t stride = 1);

/// Everything that can be seen of a cache, bit for bit.
struct CacheState {
    std::vector<std::byte> pools;
    std::vector<float> scales;  // of K and V of each head of each layer
    std::map<SeqId, std::vector<BlockId>> tables;
    std::map<SeqId, std::vector<std::int64_t>> seq_lens;
    std::vector<std::int32_t> ref_counts;
    std::int32_t num_free = 0;
    std::int64_t num_seqs = 0;

    bool operator==(const CacheState&) const = default;
};

[[nodiscard]] CacheState state_of(const PagedKVCache& cache, const CacheModel& model);

}  // namespace nanoserve::testing
