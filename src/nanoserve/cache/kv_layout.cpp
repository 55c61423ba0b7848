// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <nanoserve/cache/kv_layout.hpp>
#include <nanoserve/model/require.hpp>

#include <algorithm>
#include <utility>

namespace nanoserve {
namespace {

KVLayout with_sizes_of(const PoolShape& shape) {
    return {.dtype = shape.dtype,
            .num_blocks = shape.num_blocks,
            .block_size = shape.block_size,
            .num_kv_heads = shape.num_kv_heads,
            .head_dim = shape.head_dim};
}

// Elements: beyond any memory. What lies below is an offset in bytes of 64 bits; the sizes that may
// lie above are multiplied in 128.
constexpr std::int64_t kMaxStride = std::int64_t{1} << 48;
__extension__ using Wide = __int128;

// From the first element of `count` things of `size` elements, `stride` apart, to the last one's
// end.
Wide extent(std::int64_t count, std::int64_t stride, Wide size) {
    return Wide{count - 1} * stride + size;
}

// Two rows of a block must not share elements, nor may two blocks.
void require_rows_apart(const KVLayout& layout) {
    const Wide heads_extent = extent(layout.num_kv_heads, layout.head_stride, layout.head_dim);
    const Wide tokens_extent = extent(layout.block_size, layout.token_stride, layout.head_dim);
    const bool heads_inside_token = layout.block_size == 1 || layout.token_stride >= heads_extent;
    const bool tokens_inside_head = layout.num_kv_heads == 1 || layout.head_stride >= tokens_extent;
    require(heads_inside_token || tokens_inside_head, "token_stride ", layout.token_stride,
            " and head_stride ", layout.head_stride, " make rows of ", layout.head_dim,
            " elements overlap in a block of ", layout.block_size, " tokens and ",
            layout.num_kv_heads, " heads");
    const Wide block_extent = extent(layout.block_size, layout.token_stride, heads_extent);
    // Of one block alone as well: a pool is as large as its blocks are apart.
    require(layout.block_stride >= block_extent, "block_stride is ", layout.block_stride,
            "; a block reaches over ",
            static_cast<std::int64_t>(std::min<Wide>(block_extent, kMaxStride)), " elements");
}

// Strides are products of sizes; impossible sizes must be refused, not wrapped.
std::int64_t product(std::int64_t a, std::int64_t b) {
    const Wide exact = Wide{a} * b;
    require(exact <= kMaxStride && exact >= -kMaxStride,
            "the sizes of a block give a stride of more than 2^48 elements");
    return static_cast<std::int64_t>(exact);
}

}  // namespace

KVLayout nhd_layout(const PoolShape& shape) {
    KVLayout layout = with_sizes_of(shape);
    layout.head_stride = layout.head_dim;
    layout.token_stride = product(layout.head_stride, layout.num_kv_heads);
    layout.block_stride = product(layout.token_stride, layout.block_size);
    return layout;
}

KVLayout hnd_layout(const PoolShape& shape) {
    KVLayout layout = with_sizes_of(shape);
    layout.token_stride = layout.head_dim;
    layout.head_stride = product(layout.token_stride, layout.block_size);
    layout.block_stride = product(layout.head_stride, layout.num_kv_heads);
    return layout;
}

KVLayout interleaved_layout(const PoolShape& shape) {
    KVLayout layout = nhd_layout(shape);
    layout.block_stride *= 2;
    return layout;
}

void validate(const KVLayout& layout) {
    require(is_pool_dtype(layout.dtype), "dtype ", static_cast<int>(layout.dtype),
            " is none of fp32, fp16, bf16, fp8_e4m3");
    require(layout.num_blocks >= 0, "num_blocks is ", layout.num_blocks,
            "; it must not be negative");
    require(layout.block_size > 0, "block_size is ", layout.block_size,
            "; it must be at least 1 token");
    require(layout.num_kv_heads > 0, "num_kv_heads is ", layout.num_kv_heads,
            "; it must be at least 1");
    require(layout.head_dim > 0, "head_dim is ", layout.head_dim, "; it must be at least 1");
    for (const auto& [name, stride] : {std::pair{"block_stride", layout.block_stride},
                                       std::pair{"token_stride", layout.token_stride},
                                       std::pair{"head_stride", layout.head_stride}}) {
        require(stride >= layout.head_dim, name, " is ", stride, "; a row has head_dim ",
                layout.head_dim, " elements");
        require(stride <= kMaxStride, name, " is ", stride, "; it can be at most 2^48 elements");
    }
    require_rows_apart(layout);
    require(Wide{layout.num_blocks} * layout.block_stride <= kMaxStride, "a pool of ",
            layout.num_blocks, " blocks, ", layout.block_stride,
            " elements apart, has more than 2^48 elements");
}

}  // namespace nanoserve
