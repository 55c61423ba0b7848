// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanoserve/cache/block_pool.hpp>
#include <nanoserve/cache/kv_layout.hpp>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace nanoserve {

/// How often each element of the K and the V row of one slot was read.
struct RowReads {
    std::vector<std::int32_t> k;  ///< [head_dim]
    std::vector<std::int32_t> v;  ///< [head_dim]
};

/// What one query head of one sequence read of the cache.
struct HeadAccess {
    std::int64_t k_bytes = 0;  ///< of K, a byte read twice counted twice
    std::int64_t v_bytes = 0;  ///< of V
    /// The slots it touched, by block_id * block_size + block_offset.
    std::map<std::int64_t, RowReads> rows;
};

/// What a run of the kernel's CPU twin read of the cache.
struct AccessReport {
    KVLayout layout;                ///< of the pools
    std::int64_t num_seqs = 0;      ///< sequences in the batch
    std::int32_t num_q_heads = 0;   ///< query heads
    std::vector<HeadAccess> heads;  ///< [num_seqs, num_q_heads]
    std::uint32_t status = 0;       ///< bits of ReadStatus

    /// The access of one query head.
    [[nodiscard]] const HeadAccess& at(std::int64_t seq, std::int32_t q_head) const {
        return heads[static_cast<std::size_t>(seq * num_q_heads + q_head)];
    }
};

/// Draws how often each slot of the pool was read, for caches small enough to look at: for each
/// sequence, a line of K and one of V for every query head, then for every KV head the reads of its
/// whole group. Where each KV head has but one reader, the lines of the query heads are left out.
/// Blocks stand in physical order; a digit counts the reads of a slot (`+` for more than 9), `.` is
/// a slot that nobody read.
[[nodiscard]] std::string access_picture(const AccessReport& report);

}  // namespace nanoserve
