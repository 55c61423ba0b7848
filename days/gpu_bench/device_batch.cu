// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include "device_batch.hpp"

#include <kernels/cuda_error.hpp>

namespace nanoserve::gpu_bench {
namespace {

// A number that looks random, from one that doesn't: multiply, fold the high bits down, again.
__device__ std::uint32_t mixed(std::uint64_t x) {
    x *= 0x9e3779b97f4a7c15u;
    x ^= x >> 32;
    x *= 0xd6e8feb86659fd93u;
    return static_cast<std::uint32_t>(x >> 32);
}

// Uniform in [-1, 1), a different sequence for each seed.
template <class T>
__global__ void fill_random(T* elements, std::int64_t count, std::uint32_t seed) {
    const std::int64_t num_threads = std::int64_t{gridDim.x} * blockDim.x;
    const std::int64_t first = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
    for (std::int64_t i = first; i < count; i += num_threads) {
        const std::uint32_t bits =
            mixed(static_cast<std::uint64_t>(i) + (std::uint64_t{seed} << 48));
        elements[i] = from_float<T>(static_cast<float>(bits) * 0x1p-31f - 1.0f);
    }
}

void launch_fill(const DeviceBuffer& buffer, DType dtype, std::uint32_t seed) {
    visit_dtype(dtype, [&]<class T>() {
        const auto count = static_cast<std::int64_t>(buffer.num_bytes() / sizeof(T));
        fill_random<<<4096, 256>>>(buffer.as<T>(), count, seed);
    });
    NANOSERVE_CUDA_TRY(cudaGetLastError());
}

}  // namespace

DeviceBatch::DeviceBatch(const ReadCell& cell, std::int64_t num_layers)
    : cell_(cell),
      num_layers_(num_layers),
      tables_(make_tables(cell)),
      num_blocks_(num_used_blocks(tables_, cell.block_size)),
      pools_(static_cast<std::size_t>(num_layers * layer_bytes())),
      queries_(static_cast<std::size_t>(num_layers * query_elements() * bytes_of(cell.io_dtype))),
      outputs_(queries_.num_bytes()),
      block_tables_(to_device(tables_.block_tables)),
      seq_lens_(to_device(tables_.seq_lens)) {
    launch_fill(pools_, cell.dtype, 1);
    launch_fill(queries_, cell.io_dtype, 2);
    NANOSERVE_CUDA_TRY(cudaDeviceSynchronize());
}

std::int64_t DeviceBatch::layer_bytes() const {
    return cell_.shape.kv_bytes(num_blocks_ * cell_.block_size, cell_.dtype);
}

const std::byte* DeviceBatch::layer_data(std::int64_t layer) const {
    return pools_.data() + layer * layer_bytes();
}

std::int64_t DeviceBatch::query_elements() const {
    return cell_.num_seqs * cell_.shape.num_q_heads * cell_.shape.head_dim;
}

PagedAttentionParams DeviceBatch::params(std::int64_t layer) const {
    return params_as(cell_.order, layer);
}

PagedAttentionParams DeviceBatch::params_as(PoolOrder order, std::int64_t layer) const {
    ReadCell as = cell_;
    as.order = order;
    const std::int64_t layer_io_bytes = query_elements() * bytes_of(cell_.io_dtype);
    // The V rows begin behind the K pool or, interleaved, behind the K rows of the first block.
    const std::int64_t k_bytes =
        layer_bytes() / 2 / (order == PoolOrder::interleaved ? num_blocks_ : 1);
    const std::byte* k_cache = layer_data(layer);
    PagedAttentionParams params{.q = queries_.data() + layer * layer_io_bytes,
                                .out = outputs_.data() + layer * layer_io_bytes,
                                .io_dtype = cell_.io_dtype,
                                .num_q_heads = cell_.shape.num_q_heads,
                                .kv = {.k_cache = k_cache,
                                       .v_cache = k_cache + k_bytes,
                                       .layout = layout_of(as, num_blocks_)}};
    set_block_tables(params, tables_);
    params.block_tables = block_tables_.as<BlockId>();
    params.seq_lens = seq_lens_.as<std::int32_t>();
    return params;
}

void DeviceBatch::poison_outputs(cudaStream_t stream) const {
    NANOSERVE_CUDA_TRY(cudaMemsetAsync(outputs_.data(), 0xff, outputs_.num_bytes(), stream));
}

std::vector<std::byte> DeviceBatch::outputs() const {
    std::vector<std::byte> bytes(outputs_.num_bytes());
    copy_to_host(bytes, outputs_.data());
    return bytes;
}

}  // namespace nanoserve::gpu_bench
