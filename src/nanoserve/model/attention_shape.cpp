// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <nanoserve/model/attention_shape.hpp>
#include <nanoserve/model/require.hpp>

namespace nanoserve {

void validate(const AttentionShape& shape) {
    require(shape.num_q_heads > 0, "num_q_heads is ", shape.num_q_heads, "; it must be at least 1");
    require(shape.num_kv_heads > 0, "num_kv_heads is ", shape.num_kv_heads,
            "; it must be at least 1");
    require(shape.head_dim > 0, "head_dim is ", shape.head_dim, "; it must be at least 1");
    require(shape.num_q_heads % shape.num_kv_heads == 0, "num_q_heads is ", shape.num_q_heads,
            ", which is no multiple of num_kv_heads ", shape.num_kv_heads);
}

}  // namespace nanoserve
