// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanoserve/cache/kv_layout.hpp>
#include <nanoserve/cache/kv_scales.hpp>

#include <cstdint>
#include <span>

namespace nanoserve {

/// New K and V rows on their way into a pool; fp32, converted to the pool's dtype as they are
/// stored: see quantise().
struct KVRows {
    const float* k = nullptr;     ///< [num_tokens, num_kv_heads, head_dim]
    const float* v = nullptr;     ///< [num_tokens, num_kv_heads, head_dim]
    std::int64_t num_tokens = 0;  ///< rows of k and of v
};

/// Stores row t of `rows` at slot_mapping[t] = block_id * block_size + block_offset of both pools.
/// Of rows with equal slots the last one stays.
///
/// @param k_cache, v_cache pools with `layout`, written in place; two pools that share no row, and
/// overlap neither rows.k nor rows.v
/// @param layout sizes and strides of both pools
/// @param rows the new rows, fp32
/// @param slot_mapping flat slot of each new token, one per row; all are checked before the first
/// store
/// @param scales by which the rows are divided before they are rounded to fp8: those that the
/// reader's view carries
/// @throws std::invalid_argument when the counts differ, a pointer is null or between two elements,
/// a slot lies outside the pool or a scale can't be, naming it
void scatter_kv(void* k_cache, void* v_cache, const KVLayout& layout, const KVRows& rows,
                std::span<const std::int64_t> slot_mapping, const KVScales& scales = {});

}  // namespace nanoserve
