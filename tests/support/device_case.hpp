// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanoserve/attention/paged_attention_params.hpp>

#include <cuda_runtime_api.h>
#include <kernels/cuda_error.hpp>
#include <kernels/general_attention.hpp>

#include <cstddef>
#include <cstring>
#include <functional>
#include <memory>
#include <vector>

namespace nanoserve::testing {

/// Device memory that is freed with its owner; its bytes start as 0xff, which is NaN in every
/// element type and -1 in every integer.
class DeviceBuffer {
  public:
    explicit DeviceBuffer(std::size_t num_bytes) : num_bytes_(num_bytes) {
        void* memory = nullptr;
        NANOSERVE_CUDA_TRY(cudaMalloc(&memory, num_bytes == 0 ? 1 : num_bytes));
        memory_.reset(static_cast<std::byte*>(memory));
        poison();
    }

    /// A copy of `num_bytes` bytes of host memory.
    DeviceBuffer(const void* host, std::size_t num_bytes) : DeviceBuffer(num_bytes) {
        if (num_bytes > 0) {
            NANOSERVE_CUDA_TRY(cudaMemcpy(data(), host, num_bytes, cudaMemcpyHostToDevice));
        }
    }

    /// A copy of some elements.
    template <class T>
    explicit DeviceBuffer(const std::vector<T>& host)
        : DeviceBuffer(host.data(), host.size() * sizeof(T)) {}

    void poison() { NANOSERVE_CUDA_TRY(cudaMemset(data(), 0xff, num_bytes_)); }

    [[nodiscard]] std::byte* data() const { return memory_.get(); }
    template <class T>
    [[nodiscard]] T* as() const {
        return reinterpret_cast<T*>(memory_.get());
    }

    /// The contents, once all work of the device is done.
    template <class T = std::byte>
    [[nodiscard]] std::vector<T> to_host() const {
        std::vector<T> host(num_bytes_ / sizeof(T));
        NANOSERVE_CUDA_TRY(cudaDeviceSynchronize());
        NANOSERVE_CUDA_TRY(
            cudaMemcpy(host.data(), data(), host.size() * sizeof(T), cudaMemcpyDeviceToHost));
        return host;
    }

  private:
    struct Free {
        void operator()(std::byte* memory) const { (void)cudaFree(memory); }
    };
    std::unique_ptr<std::byte, Free> memory_;
    std::size_t num_bytes_;
};

/// What a kernel wrote.
struct DeviceResult {
    std::vector<std::byte> out;  ///< elements of io_dtype
    std::vector<float> lse;
    std::uint32_t status = 0;
};

/// Whether two results have the same out and lse, NaN included.
inline bool same_bits(const DeviceResult& a, const DeviceResult& b) {
    return a.out == b.out && a.lse.size() == b.lse.size() &&
           std::memcmp(a.lse.data(), b.lse.data(), a.lse.size() * sizeof(float)) == 0;
}

/// A copy on the device of everything that some host parameters point at, poison included.
class DeviceCase {
  public:
    explicit DeviceCase(const PagedAttentionParams& host)
        : host_(host),
          q_(host.q, q_bytes(host)),
          out_(rows(host) * bytes(host.kv.layout.head_dim, host.io_dtype)),
          lse_(rows(host) * sizeof(float)),
          k_(host.kv.k_cache, pool_bytes(host.kv.layout)),
          v_(v_offset(host) == 0 ? DeviceBuffer(host.kv.v_cache, pool_bytes(host.kv.layout))
                                 : DeviceBuffer(0)),
          block_tables_(host.block_tables,
                        bytes_of_count(host.num_seqs * host.max_blocks_per_seq, sizeof(BlockId))),
          seq_lens_(host.seq_lens, bytes_of_count(host.num_seqs, sizeof(std::int32_t))),
          k_scales_(host.kv.scales.k.heads, scale_bytes(host, host.kv.scales.k)),
          v_scales_(host.kv.scales.v.heads, scale_bytes(host, host.kv.scales.v)),
          alibi_slopes_(host.rules.alibi_slopes, rule_bytes(host, host.rules.alibi_slopes)),
          sinks_(host.rules.sinks, rule_bytes(host, host.rules.sinks)),
          status_(std::vector<std::uint32_t>{0}) {}

    /// The host's parameters with the pointers of the copies.
    [[nodiscard]] PagedAttentionParams params() const {
        PagedAttentionParams device = host_;
        device.q = q_.data();
        device.out = out_.data();
        device.lse = host_.lse == nullptr ? nullptr : lse_.as<float>();
        device.kv.k_cache = k_.data();
        device.kv.v_cache = v_offset(host_) == 0 ? v_.data() : k_.data() + v_offset(host_);
        device.kv.scales.k.heads = on_device(host_.kv.scales.k.heads, k_scales_);
        device.kv.scales.v.heads = on_device(host_.kv.scales.v.heads, v_scales_);
        device.rules.alibi_slopes = on_device(host_.rules.alibi_slopes, alibi_slopes_);
        device.rules.sinks = on_device(host_.rules.sinks, sinks_);
        device.block_tables = block_tables_.as<BlockId>();
        device.seq_lens = seq_lens_.as<std::int32_t>();
        return device;
    }

    /// Runs paged_attention over poisoned outputs.
    [[nodiscard]] DeviceResult run() {
        poison_outputs();
        general_attention(params(), nullptr, status_.as<std::uint32_t>());
        return result();
    }

    void poison_outputs() {
        out_.poison();
        lse_.poison();
        NANOSERVE_CUDA_TRY(cudaMemset(status_.data(), 0, sizeof(std::uint32_t)));
    }

    /// What the outputs hold once all work of the device is done.
    [[nodiscard]] DeviceResult result() const {
        return {.out = out_.to_host(),
                .lse = lse_.to_host<float>(),
                .status = status_.to_host<std::uint32_t>()[0]};
    }

    /// Replaces the tables, which have the sizes of the host's.
    void set_tables(const BlockTables& tables) {
        block_tables_ = DeviceBuffer(tables.block_tables);
        seq_lens_ = DeviceBuffer(tables.seq_lens);
    }

    /// Overwrites the lengths in place.
    void write_seq_lens(const std::vector<std::int32_t>& seq_lens) {
        NANOSERVE_CUDA_TRY(cudaMemcpy(seq_lens_.data(), seq_lens.data(),
                                      seq_lens.size() * sizeof(std::int32_t),
                                      cudaMemcpyHostToDevice));
    }

    [[nodiscard]] std::uint32_t* status() const { return status_.as<std::uint32_t>(); }

  private:
    static std::size_t bytes_of_count(std::int64_t count, std::size_t size) {
        return static_cast<std::size_t>(count) * size;
    }
    static std::size_t bytes(std::int64_t count, DType dtype) {
        return static_cast<std::size_t>(count * bytes_of(dtype));
    }
    static std::size_t rows(const PagedAttentionParams& p) {
        return static_cast<std::size_t>(p.num_seqs * p.num_q_heads);
    }
    static std::size_t q_bytes(const PagedAttentionParams& p) {
        const std::int64_t row = std::int64_t{p.num_q_heads} * p.kv.layout.head_dim;
        return bytes(p.num_seqs * (p.q_stride == 0 ? row : p.q_stride), p.io_dtype);
    }
    static std::size_t pool_bytes(const KVLayout& layout) {
        return bytes(layout.num_blocks * layout.block_stride, layout.dtype);
    }
    static std::size_t scale_bytes(const PagedAttentionParams& p, const KVScale& scale) {
        return scale.heads == nullptr ? 0 : bytes_of_count(p.kv.layout.num_kv_heads, sizeof(float));
    }
    static std::size_t rule_bytes(const PagedAttentionParams& p, const float* heads) {
        return heads == nullptr ? 0 : bytes_of_count(p.num_q_heads, sizeof(float));
    }
    static const float* on_device(const float* host, const DeviceBuffer& heads) {
        return host == nullptr ? nullptr : heads.as<float>();
    }
    // Bytes from K to V where both stand in one buffer, else 0.
    static std::ptrdiff_t v_offset(const PagedAttentionParams& p) {
        const auto* k = static_cast<const std::byte*>(p.kv.k_cache);
        const auto* v = static_cast<const std::byte*>(p.kv.v_cache);
        const bool inside = std::less<>{}(k, v) && std::less<>{}(v, k + pool_bytes(p.kv.layout));
        return inside ? v - k : 0;
    }

    PagedAttentionParams host_;
    DeviceBuffer q_, out_, lse_, k_, v_, block_tables_, seq_lens_, k_scales_, v_scales_;
    DeviceBuffer alibi_slopes_, sinks_, status_;
};

}  // namespace nanoserve::testing
