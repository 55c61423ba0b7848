// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanoserve/attention/paged_attention_params.hpp>

#include <kernels/general/access_report.hpp>
#include <kernels/general/twin.hpp>

#include <cstdint>

namespace nanoserve {

/// shared_heads_attention on the CPU: the very steps that the GPU runs, one lane after the other,
/// with every read of the cache counted and checked. Slow; for tests and pictures. All pointers are
/// host pointers. Writes out and lse, and treats bad ids and lengths as the kernel does.
/// @return what was read, and the status word. Here a head of the report is a KV head with its
/// whole group: num_q_heads is the number of KV heads
/// @throws std::invalid_argument as shared_heads_attention does
/// @throws std::logic_error when the kernel reads what is not its sequence's own: that is a fault
/// of the kernel
AccessReport shared_heads_twin(const PagedAttentionParams& params,
                               ThreadOrder order = ThreadOrder::ascending);

/// The same for split_kv_attention, the merge of the splits included.
/// @throws std::invalid_argument also when num_splits is not 1 to kMaxSplits
AccessReport split_kv_twin(const PagedAttentionParams& params, std::int32_t num_splits,
                           ThreadOrder order = ThreadOrder::ascending);

}  // namespace nanoserve
