// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <nanoserve/cache/kv_scales.hpp>
#include <nanoserve/model/require.hpp>

#include <cmath>
#include <string>

namespace nanoserve {
namespace {

bool is_scale(float x) {
    return std::isfinite(x) && x > 0.0f;
}

constexpr const char* kLimit = "; it must be finite and positive";

void validate_tensor(const char* name, const KVScale& scale, DType dtype) {
    require(is_scale(scale.tensor), name, ".tensor is ", scale.tensor, kLimit);
    require_aligned(std::string(name) + ".heads", scale.heads, sizeof *scale.heads);
    require(dtype == DType::fp8_e4m3 || (scale.tensor == 1.0f && scale.heads == nullptr), name,
            " is set for a pool of ", to_string(dtype), "; only fp8_e4m3 has scales");
}

void validate_heads(const char* name, const KVScale& scale, std::int32_t num_kv_heads) {
    for (std::int32_t head = 0; scale.heads != nullptr && head < num_kv_heads; ++head) {
        require(is_scale(scale.heads[head]), name, ".heads[", head, "] is ", scale.heads[head],
                kLimit);
        require(is_scale(scale.of_head(head)), name, ".tensor * ", name, ".heads[", head, "] is ",
                scale.of_head(head), kLimit);
    }
}

}  // namespace

void validate_tensor_scales(const KVScales& scales, DType dtype) {
    validate_tensor("scales.k", scales.k, dtype);
    validate_tensor("scales.v", scales.v, dtype);
}

void validate(const KVScales& scales, DType dtype, std::int32_t num_kv_heads) {
    validate_tensor_scales(scales, dtype);
    validate_heads("scales.k", scales.k, num_kv_heads);
    validate_heads("scales.v", scales.v, num_kv_heads);
}

}  // namespace nanoserve
