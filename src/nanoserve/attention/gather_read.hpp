// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanoserve/attention/paged_attention_params.hpp>
#include <nanoserve/attention/read_context.hpp>

namespace nanoserve {

/// Day 16: rebuilds the contiguous history of each sequence, block by block through its table, then
/// attends with an ordinary masked sdpa. Whole blocks are copied, so the mask hides what lies
/// behind seq_len in the last one. The copy is kept in `context`, as large as the longest history
/// so far.
/// @throws std::invalid_argument as validate(const PagedAttentionParams&) does, before anything is
/// written
void gather_read(const PagedAttentionParams& params, ReadContext& context = default_read_context());

}  // namespace nanoserve
