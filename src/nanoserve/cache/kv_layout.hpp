// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanoserve/model/dtype.hpp>

#include <cstdint>

namespace nanoserve {

/// Where the row of (block, token slot, kv head) stands in a K or V pool. Strides count elements,
/// so that NHD, HND, and K and V interleaved in one buffer are the same code. The head_dim elements
/// of a row are contiguous.
struct KVLayout {
    DType dtype = DType::fp32;      ///< of the elements
    std::int32_t num_blocks = 0;    ///< blocks in the pool
    std::int32_t block_size = 0;    ///< tokens in one block
    std::int32_t num_kv_heads = 0;  ///< heads in each token
    std::int32_t head_dim = 0;      ///< elements in one row
    std::int64_t block_stride = 0;  ///< elements from one block to the next
    std::int64_t token_stride = 0;  ///< elements from one token to the next
    std::int64_t head_stride = 0;   ///< elements from one head to the next

    /// Elements from the start of the pool to the row; 64-bit before anything is multiplied.
    [[nodiscard]] constexpr std::int64_t offset(std::int64_t block, std::int64_t token,
                                                std::int64_t head) const {
        return block * block_stride + token * token_stride + head * head_stride;
    }

    /// True when a block is one contiguous run of rows in [token, head] order.
    [[nodiscard]] constexpr bool is_dense_nhd() const {
        return head_stride == head_dim && token_stride == std::int64_t{num_kv_heads} * head_dim;
    }

    /// Equal when all sizes and strides are.
    friend constexpr bool operator==(const KVLayout&, const KVLayout&) = default;
};

/// The sizes of a pool without its order in memory.
struct PoolShape {
    DType dtype = DType::fp32;      ///< of the elements
    std::int32_t num_blocks = 0;    ///< blocks in the pool
    std::int32_t block_size = 16;   ///< tokens
    std::int32_t num_kv_heads = 0;  ///< heads in each token
    std::int32_t head_dim = 0;      ///< elements in one row
};

/// [num_blocks, block_size, num_kv_heads, head_dim], the default order of this library.
[[nodiscard]] KVLayout nhd_layout(const PoolShape& shape);

/// [num_blocks, num_kv_heads, block_size, head_dim].
[[nodiscard]] KVLayout hnd_layout(const PoolShape& shape);

/// [num_blocks, 2, block_size, num_kv_heads, head_dim] with K at index 0 and V at index 1 of the
/// second axis: the V pool starts block_size * num_kv_heads * head_dim elements after the K pool.
[[nodiscard]] KVLayout interleaved_layout(const PoolShape& shape);

/// Blocks that hold num_tokens tokens: num_tokens / block_size, rounded up. Checks nothing:
/// num_tokens is at least 0, block_size at least 1.
[[nodiscard]] constexpr std::int64_t blocks_needed(std::int64_t num_tokens,
                                                   std::int64_t block_size) {
    return num_tokens / block_size + (num_tokens % block_size != 0 ? 1 : 0);
}

/// Throws std::invalid_argument naming the first size or stride that can't be: a dtype that is
/// none, sizes below 1 (num_blocks below 0), strides that let two rows or two blocks overlap, a
/// pool of more than 2^48 elements. A block has to end within block_stride, also where there is but
/// one: pools with their heads outermost are refused, though their rows may be apart.
void validate(const KVLayout& layout);

}  // namespace nanoserve
