// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// scatter_kv: store the K and V rows of new tokens into the slots of a paged cache.
// Data     rows.k, rows.v [num_tokens, num_kv_heads, head_dim] fp32; slot_mapping [num_tokens]
//          K and V pools of T with the strides of KVLayout
// Work     one thread block per new token; a thread takes chunks of kElements of a K row and the
//          same chunks of the V row.
// Traffic  2 * num_tokens * num_kv_heads * head_dim * (4 + sizeof(T)) bytes, nothing reused:
//          memory-bound.
// Steps    find the slot → for each chunk: load, divide by the scale (fp8), convert, store.
// Edges    a slot outside the pool is skipped. Rows that don't divide into aligned chunks of 16
//          bytes are stored one element at a time.
// Tests    tests/kernels/scatter_kv_test.cpp
#include <nanoserve/model/require.hpp>

#include <kernels/cuda_error.hpp>
#include <kernels/scatter_kv.hpp>

#include <algorithm>
#include <initializer_list>
#include <kernels/launch.cuh>
#include <limits>

namespace nanoserve {
namespace {

constexpr std::int64_t kChunkBytes = 16;  // the widest store of a thread
constexpr int kMaxThreads = 256;

// Converts kElements of a row, of one head, and stores them at once.
template <class T, int kElements>
__device__ void store_chunk(T* to, const float* from, float scale) {
    struct alignas(sizeof(float) * kElements < 16 ? sizeof(float) * kElements : 16) Source {
        float elements[kElements];
    };
    struct alignas(sizeof(T) * kElements) Chunk {
        T elements[kElements];
    };
    const Source source = *reinterpret_cast<const Source*>(from);
    Chunk chunk;
#pragma unroll
    for (int i = 0; i < kElements; ++i) {
        chunk.elements[i] = quantise<T>(source.elements[i], scale);
    }
    *reinterpret_cast<Chunk*>(to) = chunk;
}

// blockIdx.x is the new token, threadIdx.x the first chunk of a thread.
// Needs row starts that are multiples of kElements in the pools and in `rows`.
template <class T, int kElements>
__global__ void __launch_bounds__(kMaxThreads)
    scatter_kv_kernel(T* k_cache, T* v_cache, KVLayout layout, KVRows rows,
                      const std::int64_t* slot_mapping, KVScales scales) {
    const std::int64_t token = blockIdx.x;
    const std::int64_t slot = slot_mapping[token];
    if (slot < 0 || slot >= std::int64_t{layout.num_blocks} * layout.block_size) {
        return;
    }
    const std::int64_t block = slot / layout.block_size;
    const std::int64_t block_offset = slot % layout.block_size;
    const std::int64_t token_elements = std::int64_t{layout.num_kv_heads} * layout.head_dim;
    for (std::int64_t i = std::int64_t{threadIdx.x} * kElements; i < token_elements;
         i += std::int64_t{blockDim.x} * kElements) {
        const std::int64_t head = i / layout.head_dim;
        const std::int64_t to = layout.offset(block, block_offset, head) + i % layout.head_dim;
        const std::int64_t from = token * token_elements + i;
        store_chunk<T, kElements>(k_cache + to, rows.k + from, scales.k.of_head(head));
        store_chunk<T, kElements>(v_cache + to, rows.v + from, scales.v.of_head(head));
    }
}

bool all_aligned(std::initializer_list<const void*> pointers) {
    return std::ranges::all_of(pointers, [](const void* pointer) {
        return reinterpret_cast<std::uintptr_t>(pointer) % kChunkBytes == 0;
    });
}

bool all_multiples(std::initializer_list<std::int64_t> counts, std::int64_t of) {
    return std::ranges::all_of(counts, [of](std::int64_t count) { return count % of == 0; });
}

template <class T, int kElements>
void launch(void* k_cache, void* v_cache, const KVLayout& layout, const KVRows& rows,
            const std::int64_t* slot_mapping, const KVScales& scales, cudaStream_t stream) {
    const std::int64_t chunks = std::int64_t{layout.num_kv_heads} * layout.head_dim / kElements;
    const auto num_threads =
        static_cast<unsigned>(std::clamp<std::int64_t>((chunks + 31) / 32 * 32, 32, kMaxThreads));
    NANOSERVE_CUDA_TRY(launch_kernel(scatter_kv_kernel<T, kElements>,
                                     static_cast<unsigned>(rows.num_tokens), num_threads, 0, stream,
                                     static_cast<T*>(k_cache), static_cast<T*>(v_cache), layout,
                                     rows, slot_mapping, scales));
}

}  // namespace

void scatter_kv(void* k_cache, void* v_cache, const KVLayout& layout, const KVRows& rows,
                const std::int64_t* slot_mapping, cudaStream_t stream, const KVScales& scales) {
    validate(layout);
    validate_tensor_scales(scales, layout.dtype);
    constexpr std::int64_t kMaxTokens = std::numeric_limits<std::int32_t>::max();
    require(rows.num_tokens >= 0 && rows.num_tokens <= kMaxTokens, "num_tokens is ",
            rows.num_tokens, "; it must be from 0 to ", kMaxTokens);
    if (rows.num_tokens == 0) {
        return;
    }
    require(rows.k != nullptr && rows.v != nullptr, "k or v is null for ", rows.num_tokens,
            " tokens");
    require(k_cache != nullptr && v_cache != nullptr, "k_cache or v_cache is null");
    require(slot_mapping != nullptr, "slot_mapping is null");
    require_aligned("k", rows.k, sizeof *rows.k);
    require_aligned("v", rows.v, sizeof *rows.v);
    require_aligned("k_cache", k_cache, bytes_of(layout.dtype));
    require_aligned("v_cache", v_cache, bytes_of(layout.dtype));
    require_aligned("slot_mapping", slot_mapping, sizeof *slot_mapping);
    visit_dtype(layout.dtype, [&]<class T>() {
        constexpr int kWide = kChunkBytes / sizeof(T);
        const bool wide = all_aligned({k_cache, v_cache, rows.k, rows.v}) &&
                          all_multiples({layout.head_dim, layout.block_stride, layout.token_stride,
                                         layout.head_stride},
                                        kWide);
        const auto action = wide ? launch<T, kWide> : launch<T, 1>;
        action(k_cache, v_cache, layout, rows, slot_mapping, scales, stream);
    });
}

}  // namespace nanoserve
