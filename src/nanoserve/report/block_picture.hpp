// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// Block tables as pictures made of text.
#pragma once

#include <nanoserve/cache/paged_kv_cache.hpp>

#include <span>
#include <string>

namespace nanoserve::report {

/// Draws where the tokens of some sequences lie, for caches small enough to look at: for each
/// sequence, named A, B, ..., its logical blocks, the physical blocks that hold them and the tokens
/// inside; then the pool in physical order with the holders of every block. `.` is an unused slot
/// or a free block.
[[nodiscard]] std::string block_picture(const PagedKVCache& cache, std::span<const SeqId> seqs);

}  // namespace nanoserve::report
