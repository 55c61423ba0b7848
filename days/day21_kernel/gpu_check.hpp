// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// Is what the GPU wrote what the float64 oracle says?
#pragma once

#include "device_batch.hpp"

#include <nanoserve/attention/attention_oracle.hpp>

#include <kernels/clock_graph.hpp>

#include <cstdint>
#include <vector>

namespace nanoserve::day21 {

/// The oracle of the first layer of a batch, for as many of its sequences as the CPU has time for,
/// spread evenly over the batch.
class GpuCheck {
  public:
    /// What `relative_error` may be: out is rounded to bf16, off by at most half a step or 2^-8 of
    /// itself, so of the largest output; everything before that is fp32 and gets as much again.
    static constexpr double kTolerance = 0x1p-7;

    /// Downloads the rows of the checked sequences and computes their oracle. Throws CudaError.
    explicit GpuCheck(const DeviceBatch& batch);

    /// Poisons all outputs with NaN, runs `replay`, and gives the first layer's relative error
    /// against the oracle. `replay` writes the outputs of all layers, on `stream`. Throws
    /// std::runtime_error, naming `read`, when the error is above kTolerance or when an output of
    /// any layer is NaN or infinite.
    double operator()(const char* read, cudaStream_t stream, const GraphReplay& replay);

    /// The outputs of all layers and sequences after the last call.
    [[nodiscard]] const std::vector<Bf16>& outputs() const { return outputs_; }

    [[nodiscard]] std::int64_t num_checked_seqs() const {
        return static_cast<std::int64_t>(seqs_.size());
    }

  private:
    [[nodiscard]] OracleResult oracle_of_checked_seqs() const;

    const DeviceBatch& batch_;
    std::vector<std::int64_t> seqs_;  // that the oracle knows
    OracleResult oracle_;
    std::vector<Bf16> outputs_;
};

/// Throws std::runtime_error when two reads of the same batch differ by more than the tolerance of
/// both: twice GpuCheck::kTolerance of the largest output. Covers the sequences without an oracle.
void require_same(const std::vector<Bf16>& kernel, const std::vector<Bf16>& gather);

}  // namespace nanoserve::day21
