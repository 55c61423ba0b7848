// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// What the tests of shared_heads_attention and of split_kv_attention have in common.
#pragma once

#include "kernels/kernel_checks.hpp"
#include "support/device_case.hpp"

#include <kernels/shared_heads.hpp>
#include <kernels/shared_heads/rounding_bounds.hpp>
#include <kernels/split_kv.hpp>

namespace nanoserve::testing {

/// In the place of a number of splits: shared_heads_attention.
inline constexpr int kDay22 = 0;

/// A case on the device, and one of the two kernels over it, with a poisoned workspace.
class SplitCase {
  public:
    SplitCase(const PagedAttentionParams& host, int num_splits)
        : device_(host),
          num_splits_(num_splits),
          workspace_(num_splits == kDay22 ? 0 : split_kv_workspace_bytes(host, num_splits)),
          workspace_bytes_(num_splits == kDay22 ? 0 : split_kv_workspace_bytes(host, num_splits)) {}

    [[nodiscard]] DeviceCase& device() { return device_; }
    [[nodiscard]] PagedAttentionParams params() const { return device_.params(); }

    /// Poisons what the kernel has to write.
    void poison() {
        device_.poison_outputs();
        workspace_.poison();
    }

    /// Launches the kernel on a stream.
    void launch(const PagedAttentionParams& params, cudaStream_t stream) const {
        if (num_splits_ == kDay22) {
            shared_heads_attention(params, stream, device_.status());
        } else {
            split_kv_attention(params, num_splits_, workspace_.data(), workspace_bytes_, stream,
                               device_.status());
        }
    }

    /// Runs the kernel over poisoned outputs.
    [[nodiscard]] DeviceResult run(const PagedAttentionParams& params) {
        poison();
        launch(params, nullptr);
        return device_.result();
    }
    [[nodiscard]] DeviceResult run() { return run(params()); }

  private:
    DeviceCase device_;
    int num_splits_;
    DeviceBuffer workspace_;
    std::size_t workspace_bytes_;
};

/// Requires the oracle's numbers within what rounding explains of these kernels.
inline void require_within_shared(const DeviceResult& result, const PagedAttentionParams& params,
                                  int num_splits) {
    require_within(result.out.data(), result.lse.data(), params,
                   shared_heads_rounding_bounds(params, num_splits));
}

}  // namespace nanoserve::testing
