// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// Published faults that need a pool of their own on the device.
#include "support/device_case.hpp"
#include "support/needs_gpu.hpp"

#include <nanoserve/model/require.hpp>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <kernels/decode/plan.hpp>
#include <kernels/paged_attention.hpp>
#include <kernels/paged_decode.hpp>
#include <kernels/shared_heads.hpp>
#include <kernels/split_kv.hpp>
#include <support/paged_case.hpp>

#include <functional>
#include <set>
#include <stdexcept>

using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::MessageMatches;
using nanoserve::DType;
using nanoserve::PagedAttentionParams;
using nanoserve::Workspace;
using nanoserve::testing::DeviceBuffer;
using nanoserve::testing::DeviceCase;
using nanoserve::testing::needs_gpu;
using nanoserve::testing::PagedCase;

namespace {

struct Kernel {
    const char* name;
    std::function<void(const PagedAttentionParams&)> launch;
};

const std::vector<Kernel> kKernels = {
    {"general_attention", [](const auto& p) { nanoserve::general_attention(p, nullptr); }},
    {"shared_heads_attention",
     [](const auto& p) { nanoserve::shared_heads_attention(p, nullptr); }},
    {"paged_decode", [](const auto& p) { nanoserve::paged_decode(p, nullptr); }},
    {"paged_attention", [](const auto& p) { nanoserve::paged_attention(p, nullptr); }},
};

// A pool of fp16 whose elements are all 1, without a copy of it on the host.
DeviceBuffer pool_of_ones(std::size_t num_bytes) {
    DeviceBuffer pool(num_bytes);
    std::vector<nanoserve::Fp16> ones(1 << 20, nanoserve::from_float<nanoserve::Fp16>(1.0f));
    std::size_t done = std::min(num_bytes, ones.size() * sizeof(nanoserve::Fp16));
    NANOSERVE_CUDA_TRY(cudaMemcpy(pool.data(), ones.data(), done, cudaMemcpyHostToDevice));
    for (std::size_t count = 0; done < num_bytes; done += count) {
        count = std::min(done, num_bytes - done);
        NANOSERVE_CUDA_TRY(
            cudaMemcpy(pool.data() + done, pool.data(), count, cudaMemcpyDeviceToDevice));
    }
    return pool;
}

}  // namespace

// A block has 32768 elements: block 65536 begins at element 2^31, block 131072 at element 2^32.
TEST_CASE("OPEN-07: kernels find a block on both sides of every 32-bit limit",
          "[reliability][heavy]") {
    needs_gpu();
    constexpr std::int32_t kHeads = 8;
    constexpr std::int32_t kHeadDim = 128;
    const nanoserve::KVLayout layout = nanoserve::nhd_layout({.dtype = DType::fp16,
                                                              .num_blocks = 131073,
                                                              .block_size = 32,
                                                              .num_kv_heads = kHeads,
                                                              .head_dim = kHeadDim});
    const auto num_bytes = static_cast<std::size_t>(layout.num_blocks * layout.block_stride * 2);
    std::size_t free_bytes = 0, total_bytes = 0;
    NANOSERVE_CUDA_TRY(cudaMemGetInfo(&free_bytes, &total_bytes));
    if (free_bytes < num_bytes + (std::size_t{1} << 30)) {
        SKIP("needs 10 GB of free device memory");
    }
    const DeviceBuffer pool = pool_of_ones(num_bytes);
    const std::vector<nanoserve::Fp16> far_rows(static_cast<std::size_t>(layout.block_stride),
                                                nanoserve::from_float<nanoserve::Fp16>(3.25f));
    const DeviceBuffer q(std::vector<nanoserve::Fp16>(kHeads * kHeadDim)),
        out(kHeads * kHeadDim * 2), seq_lens(std::vector<std::int32_t>{32});
    for (const nanoserve::BlockId far : {16384, 32768, 65535, 65536, 70000, 131071, 131072}) {
        std::byte* const block = pool.data() + layout.offset(far, 0, 0) * 2;
        NANOSERVE_CUDA_TRY(
            cudaMemcpy(block, far_rows.data(), far_rows.size() * 2, cudaMemcpyHostToDevice));
        const DeviceBuffer table(std::vector<nanoserve::BlockId>{far});
        for (const Kernel& kernel : kKernels) {
            CAPTURE(kernel.name, far);
            NANOSERVE_CUDA_TRY(cudaMemset(out.data(), 0xff, kHeads * kHeadDim * 2));
            kernel.launch({.q = q.data(),
                           .out = out.data(),
                           .io_dtype = DType::fp16,
                           .num_q_heads = kHeads,
                           .kv = {.k_cache = pool.data(), .v_cache = pool.data(), .layout = layout},
                           .block_tables = table.as<nanoserve::BlockId>(),
                           .seq_lens = seq_lens.as<std::int32_t>(),
                           .num_seqs = 1,
                           .max_blocks_per_seq = 1});
            std::set<float> values;
            for (const nanoserve::Fp16 x : out.to_host<nanoserve::Fp16>()) {
                values.insert(nanoserve::to_float(x));
            }
            CHECK(values == std::set<float>{3.25f});
        }
        NANOSERVE_CUDA_TRY(
            cudaMemcpy(block, pool.data(), far_rows.size() * 2, cudaMemcpyDeviceToDevice));
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
