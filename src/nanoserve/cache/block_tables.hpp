// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanoserve/cache/block_pool.hpp>

#include <cstdint>
#include <vector>

namespace nanoserve {

/// The block tables of a batch as a kernel takes them: one row for each sequence, padded with
/// kNoBlock.
struct BlockTables {
    static constexpr BlockId kNoBlock = -1;  ///< padding; no read follows it

    std::vector<BlockId> block_tables;    ///< [num_seqs, max_blocks_per_seq]
    std::vector<std::int32_t> seq_lens;   ///< [num_seqs], tokens in the cache, the newest included
    std::int64_t max_blocks_per_seq = 0;  ///< entries in each row of block_tables

    /// Sequences in the batch.
    [[nodiscard]] std::int64_t num_seqs() const {
        return static_cast<std::int64_t>(seq_lens.size());
    }
};

}  // namespace nanoserve
