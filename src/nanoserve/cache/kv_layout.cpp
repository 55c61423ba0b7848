// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <nanoserve/cache/kv_layout.hpp>
#include <nanoserve/model/require.hpp>

namespace nanoserve {
namespace {

KVLayout with_sizes_of(const PoolShape& shape) {
    return {.dtype = shape.dtype,
            .num_blocks = shape.num_blocks,
            .block_size = shape.block_size,
            .num_kv_heads = shape.num_kv_heads,
            .head_dim = shape.head_dim};
}

}  // namespace

KVLayout nhd_layout(const PoolShape& shape) {
    KVLayout layout = with_sizes_of(shape);
    layout.head_stride = layout.head_dim;
    layout.token_stride = layout.head_stride * layout.num_kv_heads;
    layout.block_stride = layout.token_stride * layout.block_size;
    return layout;
}

KVLayout hnd_layout(const PoolShape& shape) {
    KVLayout layout = with_sizes_of(shape);
    layout.token_stride = layout.head_dim;
    layout.head_stride = layout.token_stride * layout.block_size;
    layout.block_stride = layout.head_stride * layout.num_kv_heads;
    return layout;
}

KVLayout interleaved_layout(const PoolShape& shape) {
    KVLayout layout = nhd_layout(shape);
    layout.block_stride *= 2;
    return layout;
}

void validate(const KVLayout& layout) {
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
    }
}

}  // namespace nanoserve
