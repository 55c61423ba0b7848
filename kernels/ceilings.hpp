// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// The ceilings: what a GPU read could cost if it did nothing but load. The GPU's read_floor.
#pragma once

#include <nanoserve/attention/paged_attention_params.hpp>

#include <cuda_runtime_api.h>

#include <cstdint>

namespace nanoserve {

/// Loads every K and V row of the batch through its block tables, once, and adds up their 32-bit
/// words modulo 2^32. The sum is *added to* `*checksum`, so set that to 0 before; from 0 it is the
/// number that `read_floor` returns for the same batch on the CPU. With `checksum` null each thread
/// keeps its sum to itself: the same loads without the adding up at the end, which is what a
/// measurement wants.
///
/// All pointers are device pointers, borrowed until the stream has done the work. q, out, lse and
/// sm_scale are not used and may be null. The pool is in NHD order: [num_blocks, block_size,
/// num_kv_heads, head_dim], blocks maybe further apart. A used table entry outside the pool is not
/// followed: its tokens count as absent.
///
/// Asynchronous on `stream`: no allocation, no synchronisation. Throws std::invalid_argument,
/// naming the value and its limit, for another order, for rows that are not 16 to 2048 bytes, and
/// for rows that are not whole multiples of 16 bytes or do not start at one; CudaError when the
/// launch fails.
void load_only_nhd(const PagedAttentionParams& params, std::uint32_t* checksum,
                   cudaStream_t stream);

/// The same for a pool in HND order: [num_blocks, num_kv_heads, block_size, head_dim].
void load_only_hnd(const PagedAttentionParams& params, std::uint32_t* checksum,
                   cudaStream_t stream);

/// The same in any order of the pool, cut up as the load-only read of data/peers/h200-peers.csv is:
/// thread blocks of one KV head each. It doesn't load neighbouring heads together, so it is slower
/// than load_only_nhd where histories are long: the ruler of that file, for comparisons with its
/// times. Rows and block_size must be powers of two, the KV heads no more than 65535.
void load_only_by_head(const PagedAttentionParams& params, std::uint32_t* checksum,
                       cudaStream_t stream);

/// Loads `num_bytes` contiguous bytes of device memory, once, and adds up their 32-bit words in
/// `*checksum` as above: the rate of the memory without any table. Throws std::invalid_argument
/// unless `data` and `num_bytes` are multiples of 16; CudaError when the launch fails.
void read_stream(const void* data, std::int64_t num_bytes, std::uint32_t* checksum,
                 cudaStream_t stream);

}  // namespace nanoserve
