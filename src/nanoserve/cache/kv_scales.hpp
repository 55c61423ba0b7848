// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanoserve/model/dtype.hpp>

#include <cstdint>
#include <type_traits>

namespace nanoserve {

/// What one stored element of a pool is worth: an element x of KV head h stands for
/// to_float(x) * of_head(h). Borrows the factors of the heads.
struct KVScale {
    float tensor = 1.0f;           ///< a factor of the whole pool
    const float* heads = nullptr;  ///< [num_kv_heads], factors besides; nullptr: all are 1

    /// tensor * heads[kv_head], rounded to fp32 once.
    [[nodiscard]] constexpr float of_head(std::int64_t kv_head) const {
        return heads == nullptr ? tensor : tensor * heads[kv_head];
    }
};

/// The scales of a K and a V pool. Only pools of fp8 have any: 4 exponent bits reach from 2^-9 to
/// 448, so whoever fills the pool chooses scales that put its values there. For a read on the GPU
/// `heads` are device pointers.
struct KVScales {
    KVScale k = {};  ///< of the K pool
    KVScale v = {};  ///< of the V pool
};

static_assert(std::is_trivially_copyable_v<KVScales>, "a kernel takes them by value");

/// Checks what can be checked without following `heads`, which may be device memory.
/// @throws std::invalid_argument for a factor of a pool that is not finite or not positive, and for
/// any scale of a pool that is not fp8; the message names it
void validate_tensor_scales(const KVScales& scales, DType dtype);

/// The same and the products with the heads' factors, from host memory.
/// @throws std::invalid_argument naming the first scale that is not finite or not positive
void validate(const KVScales& scales, DType dtype, std::int32_t num_kv_heads);

}  // namespace nanoserve
