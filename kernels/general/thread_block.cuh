// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanoserve/attention/paged_attention_params.hpp>
#include <nanoserve/model/dtype.hpp>

#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <cstdint>
#include <type_traits>

namespace nanoserve {

/// The Team of attend_head on the GPU: the threads of one thread block.
struct ThreadBlock {
    /// What each thread keeps for itself, in its registers.
    template <class T>
    struct PerThread {
        T value;
        __device__ T& operator[](int) { return value; }
    };

    /// Runs `step(threadIdx.x)` and waits until all threads have: what one thread has written to
    /// shared memory is then visible to all.
    template <class Step>
    __device__ void each(Step step) const {
        step(static_cast<int>(threadIdx.x));
        __syncthreads();  // all shared memory that the step has written visible
    }
};

/// to_float on the GPU, which converts fp16 in one instruction, and fp8 in two from sm_89 on.
template <class T>
__device__ float widen(T x) {
    if constexpr (std::is_same_v<T, Fp16>) {
        return __half2float(__ushort_as_half(x.bits));
    } else if constexpr (std::is_same_v<T, Fp8E4m3>) {
        return __half2float(__half(__nv_cvt_fp8_to_halfraw(x.bits, __NV_E4M3)));
    } else {
        return to_float(x);
    }
}

/// The Memory of attend_head on the GPU: plain loads from pools of T.
template <class T>
class DeviceMemory {
  public:
    struct Row {
        const T* elements;  // [head_dim]
        __device__ float operator[](int d) const { return widen(elements[d]); }
    };

    __device__ DeviceMemory(const PagedAttentionParams& params, std::uint32_t* status,
                            std::int64_t seq, std::int32_t kv_head)
        : params_(params), status_(status), seq_(seq), kv_head_(kv_head) {}

    __device__ std::int64_t seq_len() const { return params_.seq_lens[seq_]; }
    __device__ BlockId block_id(std::int64_t i) const {
        return params_.block_tables[seq_ * params_.max_blocks_per_seq + i];
    }
    __device__ Row key_row(BlockId block, std::int32_t slot) const {
        return row(params_.kv.k_cache, block, slot);
    }
    __device__ Row value_row(BlockId block, std::int32_t slot) const {
        return row(params_.kv.v_cache, block, slot);
    }
    __device__ void report(std::uint32_t bits) const {
        if (threadIdx.x == 0 && status_ != nullptr) {
            atomicOr(status_, bits);
        }
    }

  private:
    __device__ Row row(const void* pool, BlockId block, std::int32_t slot) const {
        return {static_cast<const T*>(pool) + params_.kv.layout.offset(block, slot, kv_head_)};
    }

    const PagedAttentionParams& params_;
    std::uint32_t* status_;
    std::int64_t seq_;
    std::int32_t kv_head_;
};

}  // namespace nanoserve
