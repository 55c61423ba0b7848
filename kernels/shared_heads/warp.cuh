// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kernels/shared_heads/chunk.hpp>
#include <kernels/shared_heads/config.hpp>

#include <bit>
#include <cstdint>
#include <kernels/decode/ptx.cuh>
#include <kernels/general/thread_block.cuh>
#include <type_traits>

namespace nanoserve {

/// The Warp of attend_group on the GPU.
class Warp {
  public:
    /// What each lane keeps for itself, in its registers.
    template <class T>
    using PerLane = ThreadBlock::PerThread<T>;

    /// Of this warp in its thread block.
    [[nodiscard]] __device__ int index() const { return static_cast<int>(threadIdx.x) / 32; }

    /// Runs `step` on each lane. No lane waits for another.
    template <class Step>
    __device__ void each(Step step) const {
        step(static_cast<int>(threadIdx.x) % 32);
    }

    /// What lane ^ distance has; all lanes of the warp take part.
    template <class T>
    [[nodiscard]] __device__ PerLane<T> exchanged(const PerLane<T>& mine, int distance) const {
        static_assert(std::is_trivially_copyable_v<T> && sizeof(T) % 4 == 0, "made of words");
        struct Words {
            std::uint32_t at[sizeof(T) / 4];
        };
        Words words = std::bit_cast<Words>(mine.value);
#pragma unroll
        for (std::uint32_t& word : words.at) {
            word = __shfl_xor_sync(~0u, word, distance);
        }
        return {std::bit_cast<T>(words)};
    }
};

/// The Block of attend_group on the GPU: a thread block of warps that meet only at the end.
struct BlockOfWarps : ThreadBlock {
    /// Runs `step` on each warp and waits until all have: what one has written to shared memory is
    /// then visible to all.
    template <class Step>
    __device__ void each_warp(Step step) const {
        Warp warp;
        step(warp);
        __syncthreads();  // all shared memory that the step has written visible
    }
};

/// The Memory of attend_group on the GPU: loads of 16 bytes.
class ChunkMemory {
  public:
    __device__ ChunkMemory(const SharedHeadsArgs& args, std::int64_t seq)
        : args_(args),
          table_(args.params.block_tables + seq * args.params.max_blocks_per_seq),
          seq_len_(args.params.seq_lens + seq) {
        ptx::keep(table_);  // else it is worked out anew for each entry
    }

    [[nodiscard]] __device__ std::int32_t seq_len() const { return __ldg(seq_len_); }
    [[nodiscard]] __device__ BlockId block_id(std::int32_t i) const { return __ldg(table_ + i); }
    [[nodiscard]] __device__ Chunk key_chunk(ChunkIndex index) const {
        return load(args_.params.kv.k_cache, index);
    }
    [[nodiscard]] __device__ Chunk value_chunk(ChunkIndex index) const {
        return load(args_.params.kv.v_cache, index);
    }
    __device__ void report(std::uint32_t bits) const {
        if (args_.status != nullptr) {
            atomicOr(args_.status, bits);
        }
    }

  private:
    [[nodiscard]] __device__ Chunk load(const void* pool, ChunkIndex index) const {
        return std::bit_cast<Chunk>(__ldg(static_cast<const uint4*>(pool) + index));
    }

    const SharedHeadsArgs& args_;
    const BlockId* table_;
    const std::int32_t* seq_len_;
};

}  // namespace nanoserve
