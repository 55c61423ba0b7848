// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// A batch on the GPU: pools of several layers with random rows, shuffled tables, queries, outputs.
#pragma once

#include "device_memory.hpp"
#include "options.hpp"

#include <nanoserve/attention/paged_attention_params.hpp>

#include <cstdint>
#include <vector>

namespace nanoserve::day21 {

/// All bf16. Each layer has its own K and V pool, q and out; the layers share the tables, as they
/// do in a model. A pool holds exactly the blocks of the batch, in a shuffled order.
class DeviceBatch {
  public:
    /// Fills the pools on the GPU and waits for that. Throws CudaError.
    DeviceBatch(const Cell& cell, std::int32_t block_size, std::int64_t num_layers);

    /// A read of one layer; all pointers are the device's. lse is not asked for.
    [[nodiscard]] PagedAttentionParams params(std::int64_t layer) const;

    /// The same bytes taken as a pool in HND order: no attention over it means anything, but a
    /// load-only read doesn't ask what the bytes mean.
    [[nodiscard]] PagedAttentionParams hnd_params(std::int64_t layer) const;

    /// K pool and V pool of a layer, one behind the other.
    [[nodiscard]] const std::byte* layer_data(std::int64_t layer) const;
    [[nodiscard]] std::int64_t layer_bytes() const;

    [[nodiscard]] std::int64_t num_layers() const { return num_layers_; }
    [[nodiscard]] std::int64_t num_blocks() const { return layout_.num_blocks; }

    /// Sets the outputs of all layers to NaN, on `stream`.
    void poison_outputs(cudaStream_t stream) const;

    /// The outputs of all layers, [num_layers, num_seqs, num_q_heads, head_dim].
    [[nodiscard]] std::vector<Bf16> outputs() const;

    /// Elements of q, and of out, of one layer.
    [[nodiscard]] std::int64_t query_elements() const;

    /// The host's copy of the tables.
    [[nodiscard]] const BlockTables& tables() const { return tables_; }

  private:
    Cell cell_;
    std::int64_t num_layers_;
    KVLayout layout_;
    BlockTables tables_;
    DeviceBuffer pools_;         // [num_layers, 2, num_blocks, block_size, num_kv_heads, head_dim]
    DeviceBuffer queries_;       // [num_layers, num_seqs, num_q_heads, head_dim]
    DeviceBuffer outputs_;       // the same
    DeviceBuffer block_tables_;  // [num_seqs, max_blocks_per_seq]
    DeviceBuffer seq_lens_;      // [num_seqs]
};

}  // namespace nanoserve::day21
