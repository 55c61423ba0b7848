// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <nanoserve/cache/scatter_kv.hpp>
#include <nanoserve/model/require.hpp>

#include <algorithm>

namespace nanoserve {
namespace {

void require_slots_in_pool(const KVLayout& layout, const KVRows& rows,
                           std::span<const std::int64_t> slot_mapping) {
    validate(layout);
    require(rows.num_tokens == 0 || (rows.k != nullptr && rows.v != nullptr), "k or v is null for ",
            rows.num_tokens, " tokens");
    require_aligned("k", rows.k, sizeof *rows.k);
    require_aligned("v", rows.v, sizeof *rows.v);
    require(std::ssize(slot_mapping) == rows.num_tokens, "slot_mapping has ", slot_mapping.size(),
            " entries for ", rows.num_tokens, " tokens");
    const std::int64_t num_slots = std::int64_t{layout.num_blocks} * layout.block_size;
    for (const std::int64_t slot : slot_mapping) {
        require(slot >= 0 && slot < num_slots, "slot is ", slot, "; the pool has ", num_slots,
                " slots");
    }
}

template <class T>
void store_rows(T* pool, const KVScale& scale, const KVLayout& layout, const float* rows,
                std::span<const std::int64_t> slot_mapping) {
    for (const std::int64_t slot : slot_mapping) {
        for (std::int64_t head = 0; head < layout.num_kv_heads; ++head) {
            T* row = pool + layout.offset(slot / layout.block_size, slot % layout.block_size, head);
            std::transform(
                rows, rows + layout.head_dim, row,
                [head_scale = scale.of_head(head)](float x) { return quantise<T>(x, head_scale); });
            rows += layout.head_dim;
        }
    }
}

}  // namespace

void scatter_kv(void* k_cache, void* v_cache, const KVLayout& layout, const KVRows& rows,
                std::span<const std::int64_t> slot_mapping, const KVScales& scales) {
    require_slots_in_pool(layout, rows, slot_mapping);
    validate(scales, layout.dtype, layout.num_kv_heads);
    require(rows.num_tokens == 0 || (k_cache != nullptr && v_cache != nullptr),
            "k_cache or v_cache is null");
    require_aligned("k_cache", k_cache, bytes_of(layout.dtype));
    require_aligned("v_cache", v_cache, bytes_of(layout.dtype));
    visit_dtype(layout.dtype, [&]<class T>() {
        store_rows(static_cast<T*>(k_cache), scales.k, layout, rows.k, slot_mapping);
        store_rows(static_cast<T*>(v_cache), scales.v, layout, rows.v, slot_mapping);
    });
}

}  // namespace nanoserve
