// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include "device_batch.hpp"

#include <kernels/cuda_error.hpp>

#include <algorithm>
#include <numeric>
#include <random>

namespace nanoserve::day21 {
namespace {

// A number that looks random, from one that doesn't: multiply, fold the high bits down, again.
__device__ std::uint32_t mixed(std::uint64_t x) {
    x *= 0x9e3779b97f4a7c15u;
    x ^= x >> 32;
    x *= 0xd6e8feb86659fd93u;
    return static_cast<std::uint32_t>(x >> 32);
}

// Uniform in [-1, 1), a different sequence for each seed.
__global__ void fill_random(Bf16* elements, std::int64_t count, std::uint32_t seed) {
    const std::int64_t num_threads = std::int64_t{gridDim.x} * blockDim.x;
    const std::int64_t first = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
    for (std::int64_t i = first; i < count; i += num_threads) {
        const std::uint32_t bits =
            mixed(static_cast<std::uint64_t>(i) + (std::uint64_t{seed} << 48));
        elements[i] = from_float<Bf16>(static_cast<float>(bits) * 0x1p-31f - 1.0f);
    }
}

void launch_fill(const DeviceBuffer& buffer, std::uint32_t seed) {
    const auto count = static_cast<std::int64_t>(buffer.num_bytes() / sizeof(Bf16));
    fill_random<<<4096, 256>>>(buffer.as<Bf16>(), count, seed);
    NANOSERVE_CUDA_TRY(cudaGetLastError());
}

// Every block of the pool belongs to one sequence; which one, and where in it, is shuffled.
BlockTables shuffled_tables(const Cell& cell, std::int32_t block_size) {
    BlockTables tables;
    tables.max_blocks_per_seq = blocks_needed(cell.seq_len, block_size);
    tables.seq_lens.assign(static_cast<std::size_t>(cell.num_seqs),
                           static_cast<std::int32_t>(cell.seq_len));
    tables.block_tables.resize(static_cast<std::size_t>(cell.num_seqs * tables.max_blocks_per_seq));
    std::iota(tables.block_tables.begin(), tables.block_tables.end(), 0);
    std::mt19937 random(static_cast<std::uint32_t>(cell.num_seqs * 131 + cell.seq_len));
    std::shuffle(tables.block_tables.begin(), tables.block_tables.end(), random);
    return tables;
}

PoolShape pool_shape(const KVLayout& layout) {
    return {.dtype = layout.dtype,
            .num_blocks = layout.num_blocks,
            .block_size = layout.block_size,
            .num_kv_heads = layout.num_kv_heads,
            .head_dim = layout.head_dim};
}

std::size_t num_bytes(std::int64_t elements) {
    return static_cast<std::size_t>(elements) * sizeof(Bf16);
}

}  // namespace

DeviceBatch::DeviceBatch(const Cell& cell, std::int32_t block_size, std::int64_t num_layers)
    : cell_(cell), num_layers_(num_layers), tables_(shuffled_tables(cell, block_size)) {
    layout_ = nhd_layout({.dtype = DType::bf16,
                          .num_blocks = static_cast<std::int32_t>(tables_.block_tables.size()),
                          .block_size = block_size,
                          .num_kv_heads = cell.model.attention.num_kv_heads,
                          .head_dim = cell.model.attention.head_dim});
    pools_ = DeviceBuffer(static_cast<std::size_t>(num_layers * layer_bytes()));
    queries_ = DeviceBuffer(num_bytes(num_layers * query_elements()));
    outputs_ = DeviceBuffer(queries_.num_bytes());
    block_tables_ = to_device(tables_.block_tables);
    seq_lens_ = to_device(tables_.seq_lens);
    launch_fill(pools_, 1);
    launch_fill(queries_, 2);
    NANOSERVE_CUDA_TRY(cudaDeviceSynchronize());
}

std::int64_t DeviceBatch::layer_bytes() const {
    return 2 * layout_.num_blocks * layout_.block_stride * bytes_of(layout_.dtype);
}

const std::byte* DeviceBatch::layer_data(std::int64_t layer) const {
    return pools_.data() + layer * layer_bytes();
}

std::int64_t DeviceBatch::query_elements() const {
    const AttentionShape& shape = cell_.model.attention;
    return cell_.num_seqs * shape.num_q_heads * shape.head_dim;
}

PagedAttentionParams DeviceBatch::params(std::int64_t layer) const {
    const std::byte* k_cache = layer_data(layer);
    PagedAttentionParams params{
        .q = queries_.as<Bf16>() + layer * query_elements(),
        .out = outputs_.as<Bf16>() + layer * query_elements(),
        .io_dtype = DType::bf16,
        .num_q_heads = cell_.model.attention.num_q_heads,
        .kv = {.k_cache = k_cache, .v_cache = k_cache + layer_bytes() / 2, .layout = layout_}};
    set_block_tables(params, tables_);
    params.block_tables = block_tables_.as<BlockId>();
    params.seq_lens = seq_lens_.as<std::int32_t>();
    return params;
}

PagedAttentionParams DeviceBatch::hnd_params(std::int64_t layer) const {
    PagedAttentionParams hnd = params(layer);
    hnd.kv.layout = hnd_layout(pool_shape(layout_));
    return hnd;
}

void DeviceBatch::poison_outputs(cudaStream_t stream) const {
    NANOSERVE_CUDA_TRY(cudaMemsetAsync(outputs_.data(), 0xff, outputs_.num_bytes(), stream));
}

std::vector<Bf16> DeviceBatch::outputs() const {
    std::vector<Bf16> elements(outputs_.num_bytes() / sizeof(Bf16));
    copy_to_host(std::as_writable_bytes(std::span(elements)), outputs_.data());
    return elements;
}

}  // namespace nanoserve::day21
