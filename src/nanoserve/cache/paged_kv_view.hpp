// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanoserve/cache/kv_layout.hpp>
#include <nanoserve/cache/kv_scales.hpp>

#include <type_traits>

namespace nanoserve {

/// Borrows the K and V pools of one layer for reading; goes into a read by value, to the GPU as
/// well. Owns nothing: valid while the pools live.
struct PagedKVView {
    const void* k_cache = nullptr;  ///< pool of K rows, element type layout.dtype
    const void* v_cache = nullptr;  ///< pool of V rows, the same layout
    KVLayout layout;                ///< sizes and strides of both pools
    KVScales scales = {};           ///< what a stored element is worth, for pools of fp8

    /// The K row of a token; T is the storage type of layout.dtype.
    template <class T>
    [[nodiscard]] const T* k_row(std::int64_t block, std::int64_t token, std::int64_t head) const {
        return static_cast<const T*>(k_cache) + layout.offset(block, token, head);
    }

    /// The V row of a token.
    template <class T>
    [[nodiscard]] const T* v_row(std::int64_t block, std::int64_t token, std::int64_t head) const {
        return static_cast<const T*>(v_cache) + layout.offset(block, token, head);
    }
};

static_assert(std::is_trivially_copyable_v<PagedKVView>, "a kernel takes the view by value");

}  // namespace nanoserve
