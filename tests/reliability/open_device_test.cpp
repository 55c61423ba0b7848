// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// Published faults that need a pool of their own on the device.
#include "reliability/device_kernels.hpp"
#include "support/device_case.hpp"
#include "support/needs_gpu.hpp"

#include <nanoserve/attention/detail/element_at.hpp>
#include <nanoserve/model/require.hpp>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <kernels/ceilings.hpp>
#include <kernels/decode/plan.hpp>
#include <kernels/paged_decode.hpp>
#include <kernels/scatter_kv.hpp>
#include <kernels/split_kv.hpp>
#include <support/paged_case.hpp>

#include <cmath>
#include <cstring>
#include <numeric>
#include <set>
#include <stdexcept>

using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::MessageMatches;
using Catch::Matchers::WithinRel;
using nanoserve::BlockId;
using nanoserve::DType;
using nanoserve::KVLayout;
using nanoserve::PagedAttentionParams;
using nanoserve::PagedKVView;
using nanoserve::testing::device_kernels;
using nanoserve::testing::DeviceBuffer;
using nanoserve::testing::DeviceCase;
using nanoserve::testing::DeviceKernel;
using nanoserve::testing::needs_gpu;
using nanoserve::testing::PagedCase;

namespace {

constexpr std::int32_t kBlockSize = 32;
constexpr std::int32_t kHeads = 8;
constexpr std::int32_t kHeadDim = 128;

// Blocks of zeros, one of which can be filled.
class FarPool {
  public:
    explicit FarPool(const KVLayout& layout)
        : layout_(layout),
          num_bytes_(static_cast<std::size_t>(layout.num_blocks * layout.block_stride *
                                              bytes_of(layout.dtype))),
          k_(num_bytes_),
          v_(num_bytes_) {
        NANOSERVE_CUDA_TRY(cudaMemset(k_.data(), 0, num_bytes_));
        NANOSERVE_CUDA_TRY(cudaMemset(v_.data(), 0, num_bytes_));
    }

    // By scatter_kv, whose rows have to lie where the layout says.
    void fill(BlockId block, float k, float v) {
        const std::vector<float> k_rows(kBlockSize * kHeads * kHeadDim, k);
        const std::vector<float> v_rows(k_rows.size(), v);
        const DeviceBuffer k_on_device(k_rows), v_on_device(v_rows);
        std::vector<std::int64_t> slots(kBlockSize);
        std::iota(slots.begin(), slots.end(), std::int64_t{block} * kBlockSize);
        const DeviceBuffer slots_on_device(slots);
        nanoserve::scatter_kv(
            k_.data(), v_.data(), layout_,
            {.k = k_on_device.as<float>(), .v = v_on_device.as<float>(), .num_tokens = kBlockSize},
            slots_on_device.as<std::int64_t>(), nullptr);
        CHECK(elements_of(k_, block) == std::set<float>{k});
        CHECK(elements_of(v_, block) == std::set<float>{v});
    }

    [[nodiscard]] PagedKVView view() const {
        return {.k_cache = k_.data(), .v_cache = v_.data(), .layout = layout_};
    }

  private:
    std::set<float> elements_of(const DeviceBuffer& pool, BlockId block) const {
        const auto bytes = static_cast<std::size_t>(layout_.block_stride * bytes_of(layout_.dtype));
        std::vector<std::byte> copy(bytes);
        NANOSERVE_CUDA_TRY(cudaMemcpy(copy.data(),
                                      pool.data() + static_cast<std::size_t>(block) * bytes, bytes,
                                      cudaMemcpyDeviceToHost));
        std::set<float> values;
        for (std::int64_t i = 0; i < layout_.block_stride; ++i) {
            values.insert(
                static_cast<float>(nanoserve::detail::element_at(copy.data(), layout_.dtype, i)));
        }
        return values;
    }

    KVLayout layout_;
    std::size_t num_bytes_;
    DeviceBuffer k_, v_;
};

// The sum of all 32-bit words of a block of each pool that is filled.
std::uint32_t checksum_of(const KVLayout& layout, float k, float v) {
    std::uint32_t sum = 0;
    nanoserve::visit_dtype(layout.dtype, [&]<class T>() {
        for (const float value : {k, v}) {
            const std::vector<T> word(4 / sizeof(T), nanoserve::from_float<T>(value));
            std::uint32_t bits = 0;
            std::memcpy(&bits, word.data(), sizeof bits);
            sum +=
                bits * static_cast<std::uint32_t>(layout.block_stride * bytes_of(layout.dtype) / 4);
        }
    });
    return sum;
}

}  // namespace

// A block has 32768 elements: block 65536 begins at element 2^31, block 131072 at element 2^32.
TEST_CASE("OPEN-07: kernels find a block on both sides of every 32-bit limit",
          "[reliability][heavy]") {
    needs_gpu();
    const DType dtype = GENERATE(DType::fp16, DType::bf16, DType::fp8_e4m3);
    const DType io_dtype = dtype == DType::fp8_e4m3 ? DType::bf16 : dtype;
    const KVLayout layout = nanoserve::nhd_layout({.dtype = dtype,
                                                   .num_blocks = 131073,
                                                   .block_size = kBlockSize,
                                                   .num_kv_heads = kHeads,
                                                   .head_dim = kHeadDim});
    std::size_t free_bytes = 0, total_bytes = 0;
    NANOSERVE_CUDA_TRY(cudaMemGetInfo(&free_bytes, &total_bytes));
    if (free_bytes < (std::size_t{18} << 30)) {
        SKIP("needs 19 GB of free device memory");
    }
    FarPool pool(layout);
    std::vector<std::byte> ones(kHeads * kHeadDim * 2);
    nanoserve::visit_io_dtype(io_dtype, [&]<class T>() {
        for (std::size_t i = 0; i < ones.size() / sizeof(T); ++i) {
            const T one = nanoserve::from_float<T>(1.0f);
            std::memcpy(ones.data() + i * sizeof(T), &one, sizeof(T));
        }
    });
    const DeviceBuffer q(ones), out(ones.size()), status(std::vector<std::uint32_t>{0}),
        seq_lens(std::vector<std::int32_t>{2 * kBlockSize});
    const double expected = 3.25 / (1.0 + std::exp(-0.125 * std::sqrt(kHeadDim)));
    for (const BlockId far : {16384, 32768, 65535, 65536, 70000, 131071, 131072}) {
        pool.fill(far, 0.125f, 3.25f);
        const DeviceBuffer table(std::vector<BlockId>{far, 0});
        const PagedAttentionParams params = {.q = q.data(),
                                             .out = out.data(),
                                             .io_dtype = io_dtype,
                                             .num_q_heads = kHeads,
                                             .kv = pool.view(),
                                             .block_tables = table.as<BlockId>(),
                                             .seq_lens = seq_lens.as<std::int32_t>(),
                                             .num_seqs = 1,
                                             .max_blocks_per_seq = 2};
        for (const DeviceKernel& kernel : device_kernels()) {
            CAPTURE(kernel.name, far, dtype);
            if (kernel.reason_to_refuse(params)) {
                continue;
            }
            NANOSERVE_CUDA_TRY(cudaMemset(out.data(), 0xff, ones.size()));
            kernel.launch(params, status.as<std::uint32_t>());
            const std::vector<std::byte> result = out.to_host();
            for (std::int64_t i = 0; i < kHeads * kHeadDim; ++i) {
                // Weights and the output are rounded to 16 bits: two half steps of bf16.
                REQUIRE_THAT(nanoserve::detail::element_at(result.data(), io_dtype, i),
                             WithinRel(expected, 0x1p-7));
            }
        }
        for (const auto& load_only : {nanoserve::load_only_nhd, nanoserve::load_only_by_head}) {
            const DeviceBuffer checksum(std::vector<std::uint32_t>{0});
            load_only(params, checksum.as<std::uint32_t>(), nullptr);
            CHECK(checksum.to_host<std::uint32_t>()[0] == checksum_of(layout, 0.125f, 3.25f));
        }
        pool.fill(far, 0.0f, 0.0f);
    }
}

// Two tokens, with values of 0 and of 1. The last query head gives the second all its weight, all
// others weigh both alike. Its query begins behind element 2^31.
TEST_CASE("OPEN-07: kernels find the query of a head behind 2^31 elements",
          "[reliability][heavy]") {
    needs_gpu();
    constexpr std::int32_t kKVHeads = (1 << 19) + 17, kGroup = 16, kDim = 256;
    const KVLayout layout = nanoserve::nhd_layout({.dtype = DType::fp8_e4m3,
                                                   .num_blocks = 2,
                                                   .block_size = 1,
                                                   .num_kv_heads = kKVHeads,
                                                   .head_dim = kDim});
    const auto pool_bytes = static_cast<std::size_t>(2 * layout.block_stride);
    const std::size_t q_bytes = std::size_t{kKVHeads} * kGroup * kDim * 2;
    std::size_t free_bytes = 0, total_bytes = 0;
    NANOSERVE_CUDA_TRY(cudaMemGetInfo(&free_bytes, &total_bytes));
    if (free_bytes < 2 * q_bytes + 4 * pool_bytes + (std::size_t{1} << 30)) {
        SKIP("needs 11 GB of free device memory");
    }
    const auto one = nanoserve::from_float<nanoserve::Fp8E4m3>(1.0f);
    const DeviceBuffer k(pool_bytes), v(pool_bytes), q(q_bytes), out(q_bytes),
        status(std::vector<std::uint32_t>{0}), table(std::vector<BlockId>{0, 1}),
        seq_lens(std::vector<std::int32_t>{2});
    NANOSERVE_CUDA_TRY(cudaMemset(k.data(), 0, pool_bytes));
    NANOSERVE_CUDA_TRY(cudaMemset(k.data() + pool_bytes - kDim, one.bits, kDim));
    NANOSERVE_CUDA_TRY(cudaMemset(v.data(), 0, pool_bytes / 2));
    NANOSERVE_CUDA_TRY(cudaMemset(v.data() + pool_bytes / 2, one.bits, pool_bytes / 2));
    NANOSERVE_CUDA_TRY(cudaMemset(q.data(), 0, q_bytes));
    const std::vector<nanoserve::Fp16> ones(kDim, nanoserve::from_float<nanoserve::Fp16>(1.0f));
    NANOSERVE_CUDA_TRY(
        cudaMemcpy(q.data() + q_bytes - 2 * kDim, ones.data(), 2 * kDim, cudaMemcpyHostToDevice));
    const PagedAttentionParams params = {
        .q = q.data(),
        .out = out.data(),
        .io_dtype = DType::fp16,
        .num_q_heads = kKVHeads * kGroup,
        .kv = {.k_cache = k.data(), .v_cache = v.data(), .layout = layout},
        .block_tables = table.as<BlockId>(),
        .seq_lens = seq_lens.as<std::int32_t>(),
        .num_seqs = 1,
        .max_blocks_per_seq = 2,
        .sm_scale = 1.0f};
    for (const DeviceKernel& kernel : device_kernels()) {
        CAPTURE(kernel.name);
        if (kernel.reason_to_refuse(params)) {
            continue;
        }
        NANOSERVE_CUDA_TRY(cudaMemset(out.data(), 0xff, q_bytes));
        kernel.launch(params, status.as<std::uint32_t>());
        std::vector<nanoserve::Fp16> last(2 * kDim);  // of the last two heads
        NANOSERVE_CUDA_TRY(cudaMemcpy(last.data(), out.data() + q_bytes - 4 * kDim, 4 * kDim,
                                      cudaMemcpyDeviceToHost));
        CHECK(nanoserve::to_float(last[0]) == 0.5f);
        CHECK(nanoserve::to_float(last[kDim]) == 1.0f);
    }
}

TEST_CASE("OPEN-15: a workspace one byte short is refused by the bytes it needs", "[reliability]") {
    needs_gpu();
    PagedCase test({.shape = {.num_q_heads = 8, .num_kv_heads = 2, .head_dim = 64},
                    .block_size = 16,
                    .seq_lens = {100, 33},
                    .dtype = DType::bf16,
                    .io_dtype = DType::bf16});
    DeviceCase device(test.params());
    device.poison_outputs();
    const auto poison = device.result().out;
    const PagedAttentionParams params = device.params();

    const std::size_t split_bytes = nanoserve::split_kv_workspace_bytes(params, 3);
    const DeviceBuffer split_memory(split_bytes);
    CHECK_THROWS_MATCHES(
        nanoserve::split_kv_attention(params, 3, split_memory.data(), split_bytes - 1, nullptr),
        std::invalid_argument,
        MessageMatches(ContainsSubstring(nanoserve::join_text(split_bytes))));
    CHECK(device.result().out == poison);

    const std::size_t decode_bytes = nanoserve::paged_decode_workspace_bytes(params);
    const DeviceBuffer decode_memory(decode_bytes);
    const nanoserve::DecodePlan plan = {.num_warps = 8, .evict_first = true, .balance = true};
    CHECK_THROWS_MATCHES(
        nanoserve::paged_decode(params, plan, nullptr, nullptr,
                                {.data = decode_memory.data(), .num_bytes = decode_bytes - 1}),
        std::invalid_argument,
        MessageMatches(ContainsSubstring(nanoserve::join_text(decode_bytes))));
    CHECK(device.result().out == poison);
}
