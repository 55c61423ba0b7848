// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanoserve/attention/attention_oracle.hpp>
#include <nanoserve/attention/paged_attention_params.hpp>
#include <nanoserve/attention/rounding_bound.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace nanoserve::testing {

/// Order of a pool in memory.
enum class PoolOrder { nhd, hnd, interleaved };

/// What a test asks for.
struct CaseSpec {
    AttentionShape shape = {.num_q_heads = 8, .num_kv_heads = 2, .head_dim = 16};
    std::int32_t block_size = 4;
    std::vector<std::int32_t> seq_lens = {9};
    DType dtype = DType::fp32;
    DType io_dtype = DType::fp32;
    PoolOrder order = PoolOrder::nhd;
    bool scaled = false;   ///< a pool of fp8 with scales of its own for K, for V and for each head
    float q_scale = 1.0f;  ///< standard deviation of q: large values make the softmax peaky
    float k_scale = 1.0f;  ///< largest |element| of K
    float v_scale = 1.0f;  ///< largest |element| of V
    std::int64_t sliding_window = 0;  ///< newest tokens that are visible, 0: all
    float logits_soft_cap = 0.0f;     ///< 0: none
    bool alibi = false;               ///< slopes as ALiBi has them: 2^(-8 h / heads)
    bool sinks = false;               ///< one near the scores for each head, none for the first
    std::int32_t row_padding = 0;     ///< elements of NaN behind each row of the pools
    bool spare_entry = true;  ///< each row of the tables has one entry more than the longest needs
    std::int64_t q_padding = 0;  ///< elements of NaN behind each sequence's q
    std::uint32_t seed = 1;
};

/// A pool, tables and queries for one read, made to hurt: every slot that no sequence owns holds
/// NaN, blocks are scattered, and table entries past the used ones are ids that no pool has. So are
/// those before a sliding window, and its first block has NaN up to the first visible token.
class PagedCase {
  public:
    explicit PagedCase(const CaseSpec& spec);

    /// Parameters of a read over this case; out and lse are set to NaN first.
    [[nodiscard]] PagedAttentionParams params();

    [[nodiscard]] std::vector<std::byte>& out() { return out_; }
    [[nodiscard]] std::vector<float>& lse() { return lse_; }
    [[nodiscard]] BlockTables& tables() { return tables_; }
    [[nodiscard]] const CaseSpec& spec() const { return spec_; }
    [[nodiscard]] std::vector<float> out_floats() const;

    /// Sets element d of a token's K or V row (is_key) in physical block `block`.
    void set_row(bool is_key, BlockId block, std::int64_t slot, std::int64_t head, float value);
    void set_q(float value);

    [[nodiscard]] std::string describe() const;

  private:
    void fill_pools();

    CaseSpec spec_;
    KVLayout layout_;
    std::vector<float> k_scales_, v_scales_;   // [num_kv_heads], empty unless the pool is scaled
    std::vector<float> alibi_slopes_, sinks_;  // [num_q_heads], empty without
    std::vector<std::byte> k_, v_;             // for the interleaved order all is in k_
    std::vector<std::byte> q_, out_;
    std::vector<float> lse_;
    BlockTables tables_;
};

}  // namespace nanoserve::testing
