// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanoserve/attention/paged_attention_params.hpp>
#include <nanoserve/cache/paged_kv_cache.hpp>

#include <cstdint>
#include <vector>

namespace nanoserve {

/// What a benchmark of a read asks for.
struct HistorySpec {
    AttentionShape shape;            ///< heads and head_dim
    std::int64_t seq_len = 0;        ///< tokens of each history
    std::int32_t block_size = 16;    ///< tokens
    DType dtype = DType::fp32;       ///< of the pool; q and out are fp32
    std::int64_t num_histories = 1;  ///< different histories of this length in the pool
    std::int64_t spare_tokens = 0;   ///< room for tokens that are appended later, in whole blocks
    std::uint32_t seed = 0;          ///< of the values and of the order of the blocks
};

/// A decode step's input without a model: a cache of one layer that was prefilled once, its blocks
/// scattered over the pool as they are in a server that has run for a while, and a query. The cost
/// of a read depends on shapes and on the history's length, not on the values: they are random.
///
/// With several histories, rotate() moves to the next one: a pool larger than the processor's
/// caches makes every read a cold one.
class SyntheticHistory {
  public:
    /// @throws std::invalid_argument on impossible sizes, OutOfMemory when the memory is not to be
    /// had; both name the size
    explicit SyntheticHistory(const HistorySpec& spec);

    /// A read of the current history: q, tables, view and sm_scale are set; out and lse are the
    /// caller's to set.
    [[nodiscard]] const PagedAttentionParams& params() const { return params_; }

    /// Makes the next history the current one, round and round.
    void rotate();

    /// Appends one token with random values to the current history.
    WriteResult append();

    /// What every history was prefilled with: the same rows as they were before they were paged.
    [[nodiscard]] KVRows rows() const { return {k_.data(), v_.data(), spec_.seq_len}; }

    /// The sequences in the cache, one for each history.
    [[nodiscard]] const std::vector<SeqId>& seqs() const { return seqs_; }

    /// The cache that all histories share.
    [[nodiscard]] const PagedKVCache& cache() const { return cache_; }
    /// What was asked for.
    [[nodiscard]] const HistorySpec& spec() const { return spec_; }

  private:
    void scatter_free_blocks();
    void select(std::size_t index);

    HistorySpec spec_;
    PagedKVCache cache_;
    std::vector<SeqId> seqs_;
    std::vector<BlockTables> tables_;  // one for each history
    std::size_t current_ = 0;
    std::vector<float> k_, v_, q_, token_;
    PagedAttentionParams params_;
};

/// Histories of `spec` that fill at least `pool_bytes` together, at least one.
/// @throws std::invalid_argument on impossible sizes
[[nodiscard]] std::int64_t histories_in(std::int64_t pool_bytes, const HistorySpec& spec);

}  // namespace nanoserve
