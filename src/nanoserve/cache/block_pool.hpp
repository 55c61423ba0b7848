// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace nanoserve {

/// Physical id of a KV block: its place in the pool, 0 <= id < num_blocks.
using BlockId = std::int32_t;

/// Hands out the ids of a fixed number of blocks and counts who holds each of them.
///
/// Knows ids alone, no memory. Invariant: every block is either on the free list or has at least
/// one reference, so num_free() + num_used() == num_blocks() always. Not thread-safe.
class BlockPool {
  public:
    /// Throws std::invalid_argument when num_blocks is negative.
    explicit BlockPool(std::int32_t num_blocks);

    /// Takes a free block and gives it one reference; nullopt when none is free.
    [[nodiscard]] std::optional<BlockId> allocate();

    /// Adds a holder to a block in use, which can have 2^31 - 1 of them. Throws
    /// std::invalid_argument on a free or impossible id.
    void retain(BlockId id);

    /// Drops a holder; the last one returns the block to the free list. Throws
    /// std::invalid_argument on a free or impossible id: releasing twice is an error, not a
    /// corruption. In a copy of a pool it may also throw std::bad_alloc; the block keeps its holder
    /// then.
    void release(BlockId id);

    /// Holders of the block, 0 when it is free. Throws std::invalid_argument on an impossible id.
    [[nodiscard]] std::int32_t ref_count(BlockId id) const;

    /// Blocks altogether.
    [[nodiscard]] std::int32_t num_blocks() const;
    /// Blocks that nobody holds.
    [[nodiscard]] std::int32_t num_free() const;
    /// Blocks with at least one holder.
    [[nodiscard]] std::int32_t num_used() const;

  private:
    void require_in_use(BlockId id) const;

    std::vector<BlockId> free_;  // a stack: the block freed last is taken first, while it is still
                                 // in the CPU's caches
    std::vector<std::int32_t> ref_counts_;
};

}  // namespace nanoserve
