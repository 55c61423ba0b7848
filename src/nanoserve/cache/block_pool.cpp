// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <nanoserve/cache/block_pool.hpp>
#include <nanoserve/model/require.hpp>

#include <numeric>

namespace nanoserve {

BlockPool::BlockPool(std::int32_t num_blocks) {
    require(num_blocks >= 0, "num_blocks is ", num_blocks, "; it must not be negative");
    const auto count = static_cast<std::size_t>(num_blocks);
    free_.resize(count);
    std::iota(free_.rbegin(), free_.rend(), 0);  // block 0 on top
    ref_counts_.resize(count, 0);
}

std::optional<BlockId> BlockPool::allocate() {
    if (free_.empty()) {
        return std::nullopt;
    }
    const BlockId id = free_.back();
    free_.pop_back();
    ref_counts_[static_cast<std::size_t>(id)] = 1;
    return id;
}

void BlockPool::retain(BlockId id) {
    require_in_use(id);
    ++ref_counts_[static_cast<std::size_t>(id)];
}

void BlockPool::release(BlockId id) {
    require_in_use(id);
    std::int32_t& holders = ref_counts_[static_cast<std::size_t>(id)];
    if (holders == 1) {
        free_.push_back(id);  // first, since the list of a copied pool may find no memory to grow
    }
    --holders;
}

std::int32_t BlockPool::ref_count(BlockId id) const {
    require(id >= 0 && id < num_blocks(), "block id is ", id, "; the pool has ", num_blocks(),
            " blocks");
    return ref_counts_[static_cast<std::size_t>(id)];
}

std::int32_t BlockPool::num_blocks() const {
    return static_cast<std::int32_t>(ref_counts_.size());
}
std::int32_t BlockPool::num_free() const {
    return static_cast<std::int32_t>(free_.size());
}
std::int32_t BlockPool::num_used() const {
    return num_blocks() - num_free();
}

void BlockPool::require_in_use(BlockId id) const {
    require(ref_count(id) > 0, "block ", id, " is not in use (freed twice?)");
}

}  // namespace nanoserve
