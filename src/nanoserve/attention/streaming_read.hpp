// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanoserve/attention/paged_attention_params.hpp>
#include <nanoserve/attention/read_context.hpp>

namespace nanoserve {

/// Day 21 on the CPU, the algorithm of the kernels: one pass over the blocks. Each block is scored,
/// the running softmax is updated (online softmax), its values are added; no copy of the history,
/// no row of scores as long as it. The query heads of a group share each loaded row of K and V.
///
/// The history is cut into num_splits pieces of whole blocks, attended to apart and merged by their
/// lse (merge_splits). A result's bits depend on num_splits and on the instruction set, not on the
/// number of threads.
/// @param params the read, as for every other one
/// @param context threads and scratch memory
/// @param num_splits at least 1; pieces beyond the number of blocks stay empty
/// @throws std::invalid_argument as validate(const PagedAttentionParams&) does, and on num_splits
/// below 1 or above 65536, before anything is written
void streaming_read(const PagedAttentionParams& params, std::int64_t num_splits = 1,
                    ReadContext& context = default_read_context());

}  // namespace nanoserve
