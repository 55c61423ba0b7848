// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanoserve/attention/paged_attention_params.hpp>
#include <nanoserve/attention/read_context.hpp>

namespace nanoserve {

/// Day 19, the fused read and the correctness oracle: attention over the scattered blocks in place.
/// Walks the block table twice, for the scores and for the values; copies no history. The same bits
/// as gather_read, on every instruction set and with every number of threads.
/// @throws std::invalid_argument as validate(const PagedAttentionParams&) does, before anything is
/// written
void paged_attention_reference(const PagedAttentionParams& params,
                               ReadContext& context = default_read_context());

}  // namespace nanoserve
