// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include "reliability/cache_walk.hpp"

namespace nanoserve::testing {

WalkSpec random_walk_spec(std::uint32_t seed) {
    std::mt19937 random(seed ^ 0x5bd1e995u);
    const auto pick = [&](int low, int high) {
        return std::uniform_int_distribution<int>(low, high)(random);
    };
    const std::int32_t padding = pick(0, 2) == 0 ? pick(1, 5) : 0;
    const std::int32_t head_dim = pick(1, 4);
    const PoolShape shape = {.dtype = static_cast<DType>(pick(0, 3)),
                             .num_blocks = pick(0, 20),
                             .block_size = pick(1, 5),
                             .num_kv_heads = pick(1, 3),
                             .head_dim = head_dim + padding};
    WalkSpec spec = {.seed = seed,
                     .num_layers = pick(1, 3),
                     .layout = pick(0, 1) == 0 ? nhd_layout(shape) : hnd_layout(shape),
                     .max_seqs = pick(2, 10),
                     .max_prefill = 4 * shape.block_size};
    spec.layout.head_dim = head_dim;
    spec.head_scales = pick(0, 3) > 0;
    return spec;
}

std::string to_string(const WalkSpec& spec) {
    const KVLayout& layout = spec.layout;
    return join_text("seed ", spec.seed, ": ", spec.num_layers, " layers of ", layout.num_blocks,
                     " blocks, block_size ", layout.block_size, ", ", layout.num_kv_heads,
                     " heads of ", layout.head_dim, " ", nanoserve::to_string(layout.dtype),
                     ", strides ", layout.block_stride, " ", layout.token_stride, " ",
                     layout.head_stride);
}

}  // namespace nanoserve::testing
