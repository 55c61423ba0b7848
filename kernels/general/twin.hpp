// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanoserve/attention/paged_attention_params.hpp>

#include <kernels/general/access_report.hpp>

namespace nanoserve {

/// The order in which the twin runs the threads of a thread block between two barriers. A result
/// that depends on it is a race.
enum class ThreadOrder {
    ascending,   ///< thread 0 first
    descending,  ///< thread 0 last
};

/// general_attention on the CPU: the very steps that the GPU runs, one thread after the other, with
/// every read of the cache counted and checked. Slow; for tests and pictures. All pointers are host
/// pointers. Writes out and lse, and treats bad ids and lengths as the kernel does.
/// @return what was read, and the status word
/// @throws std::invalid_argument as general_attention does
/// @throws std::logic_error when the kernel reads what is not its sequence's own: that is a fault
/// of the kernel
AccessReport paged_attention_twin(const PagedAttentionParams& params,
                                  ThreadOrder order = ThreadOrder::ascending);

}  // namespace nanoserve
