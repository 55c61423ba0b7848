// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// A batch on the GPU: pools of several layers with random rows, shuffled tables, queries, outputs.
#pragma once

#include "device_memory.hpp"
#include "read_cell.hpp"

#include <nanoserve/attention/paged_attention_params.hpp>

#include <cstdint>
#include <vector>

namespace nanoserve::gpu_bench {

/// Each layer has its own K and V pool, q and out; the layers share the tables, as they do in a
/// model.
class DeviceBatch {
  public:
    /// Fills the pools on the GPU with values in [-1, 1) and waits for that. Throws CudaError.
    DeviceBatch(const ReadCell& cell, std::int64_t num_layers);

    /// A read of one layer; all pointers are the device's. lse is not asked for.
    [[nodiscard]] PagedAttentionParams params(std::int64_t layer) const;

    /// The same bytes taken as pools in another order: no attention over them means anything, but
    /// a load-only read doesn't ask what the bytes mean.
    [[nodiscard]] PagedAttentionParams params_as(PoolOrder order, std::int64_t layer) const;

    /// K and V pool of a layer, one behind the other or interleaved.
    [[nodiscard]] const std::byte* layer_data(std::int64_t layer) const;
    [[nodiscard]] std::int64_t layer_bytes() const;

    [[nodiscard]] const ReadCell& cell() const { return cell_; }
    [[nodiscard]] std::int64_t num_layers() const { return num_layers_; }

    /// Sets the outputs of all layers to NaN, on `stream`.
    void poison_outputs(cudaStream_t stream) const;

    /// The outputs of all layers, [num_layers, num_seqs, num_q_heads, head_dim] of io_dtype.
    [[nodiscard]] std::vector<std::byte> outputs() const;

    /// Elements of q, and of out, of one layer.
    [[nodiscard]] std::int64_t query_elements() const;

    /// The host's copy of the tables.
    [[nodiscard]] const BlockTables& tables() const { return tables_; }

  private:
    ReadCell cell_;
    std::int64_t num_layers_;
    BlockTables tables_;
    std::int64_t num_blocks_;
    DeviceBuffer pools_;         // [num_layers], K and V in the order of the cell
    DeviceBuffer queries_;       // [num_layers, num_seqs, num_q_heads, head_dim]
    DeviceBuffer outputs_;       // the same
    DeviceBuffer block_tables_;  // [num_seqs, max_blocks_per_seq]
    DeviceBuffer seq_lens_;      // [num_seqs]
};

}  // namespace nanoserve::gpu_bench
