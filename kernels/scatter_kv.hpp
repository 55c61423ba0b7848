// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanoserve/cache/scatter_kv.hpp>

#include <cuda_runtime_api.h>

#include <cstdint>

namespace nanoserve {

/// scatter_kv on the GPU: stores row t of `rows` at slot_mapping[t] of both pools, with the bits
/// that the CPU's scatter_kv stores. All pointers are device pointers, valid until the work on
/// `stream` is done. Stream-ordered; allocates nothing and never synchronises.
///
/// Slots live on the device, where nobody can throw: a slot outside the pool is skipped, -1 being
/// the usual padding. Two rows for the same slot leave it with either, or a mixture.
///
/// @param k_cache, v_cache pools with `layout`, written in place
/// @param layout sizes and strides of both pools
/// @param rows the new rows, fp32
/// @param slot_mapping [rows.num_tokens], block_id * block_size + block_offset of each new token
/// @param stream where to launch
/// @param scales of the pools, where they are fp8; the factors of heads are device pointers
/// @throws std::invalid_argument for an impossible layout, a scale of a pool that can't be, a count
/// below 0 or above a grid's 2^31 - 1 thread blocks, a null pointer
/// @throws CudaError when the launch fails
void scatter_kv(void* k_cache, void* v_cache, const KVLayout& layout, const KVRows& rows,
                const std::int64_t* slot_mapping, cudaStream_t stream, const KVScales& scales = {});

}  // namespace nanoserve
