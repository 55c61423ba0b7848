// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// Is what the GPU wrote what the float64 oracle says?
#pragma once

#include "device_batch.hpp"

#include <nanoserve/attention/attention_oracle.hpp>

#include <kernels/clock_graph.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace nanoserve::gpu_bench {

/// The oracle of the first layer of a batch, for as many of its sequences as the CPU has time for:
/// the longest, the shortest, and others spread evenly over the batch.
class GpuCheck {
  public:
    /// Downloads the rows of the checked sequences and computes their oracle. Throws CudaError.
    explicit GpuCheck(const DeviceBatch& batch);

    /// Poisons all outputs with NaN, runs `replay`, and gives the first layer's
    /// relative_norm_error() against the oracle. `replay` writes the outputs of all layers, on
    /// `stream`. Throws std::runtime_error, naming `read`, when relative_error() is above
    /// tolerance() or when an output of any layer is NaN or infinite.
    double operator()(const std::string& read, cudaStream_t stream, const GraphReplay& replay);

    /// What `relative_error` may be. A 16-bit output is off by half a step of itself, so of the
    /// largest output: 2^-8 (bf16) or 2^-11 (fp16). Weights that were rounded to 16 bits are off by
    /// as much, each on its own, so that their sum is no further off than the largest output's
    /// rounding; that makes two. With fp32 outputs it is what rounding explains of fp32 arithmetic,
    /// paged_attention_rounding_bounds().
    [[nodiscard]] double tolerance() const { return tolerance_; }

    /// The outputs of all layers and sequences after the last call, elements of io_dtype.
    [[nodiscard]] const std::vector<std::byte>& outputs() const { return outputs_; }

    [[nodiscard]] std::int64_t num_checked_seqs() const {
        return static_cast<std::int64_t>(seqs_.size());
    }

    /// Throws std::runtime_error, naming both reads, when `outputs()` and `others` of another read
    /// of the batch differ by more than the tolerance of both: twice tolerance() of the largest
    /// output. Covers the sequences without an oracle.
    void require_same(const std::string& read, const std::string& other_read,
                      const std::vector<std::byte>& others) const;

  private:
    const DeviceBatch& batch_;
    std::vector<std::int64_t> seqs_;  // that the oracle knows
    OracleResult oracle_;
    double tolerance_ = 0.0;
    std::vector<std::byte> outputs_;
};

}  // namespace nanoserve::gpu_bench
