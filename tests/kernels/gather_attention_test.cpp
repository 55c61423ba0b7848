// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include "support/device_case.hpp"
#include "support/needs_gpu.hpp"
#include "support/paged_case.hpp"

#include <nanoserve/attention/detail/element_at.hpp>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>
#include <kernels/gather/rounding_bounds.hpp>
#include <kernels/gather_attention.hpp>

#include <cmath>
#include <cstring>
#include <stdexcept>
#include <vector>

using namespace nanoserve;
using Catch::Matchers::Message;
using Catch::Matchers::WithinAbs;
using nanoserve::testing::CaseSpec;
using nanoserve::testing::DeviceBuffer;
using nanoserve::testing::DeviceCase;
using nanoserve::testing::DeviceResult;
using nanoserve::testing::needs_gpu;
using nanoserve::testing::PagedCase;
using nanoserve::testing::PoolOrder;

namespace {

// The workspace holds NaN at first, so an element that was not gathered shows.
DeviceResult run_gather(DeviceCase& device) {
    const PagedAttentionParams params = device.params();
    const DeviceBuffer workspace(gather_workspace_bytes(params));
    device.poison_outputs();
    gather_attention(params, workspace.data(), gather_workspace_bytes(params), nullptr);
    return device.result();
}

void require_oracle(const DeviceResult& result, const PagedAttentionParams& host) {
    const OracleResult oracle = attention_oracle(host);
    const RoundingBounds bounds = gather_rounding_bounds(host);
    for (std::size_t i = 0; i < oracle.out.size(); ++i) {
        const double element =
            detail::element_at(result.out.data(), host.io_dtype, static_cast<std::int64_t>(i));
        if (!(std::abs(element - oracle.out[i]) <= bounds.out)) {
            CAPTURE(i);
            REQUIRE_THAT(element, WithinAbs(oracle.out[i], bounds.out));
        }
    }
    for (std::size_t i = 0; i < oracle.lse.size(); ++i) {
        CAPTURE(i);
        if (std::isinf(oracle.lse[i])) {
            REQUIRE(result.lse[i] == -INFINITY);
        } else {
            REQUIRE_THAT(double{result.lse[i]}, WithinAbs(oracle.lse[i], bounds.lse));
        }
    }
}

void check_gather(const CaseSpec& spec) {
    PagedCase test(spec);
    CAPTURE(test.describe());
    const PagedAttentionParams host = test.params();
    DeviceCase device(host);
    require_oracle(run_gather(device), host);
}

}  // namespace

TEST_CASE("gather_attention equals the oracle for every dtype and order of the pool",
          "[kernels][gather]") {
    needs_gpu();
    const auto dtype = GENERATE(DType::fp32, DType::fp16, DType::bf16, DType::fp8_e4m3);
    const bool is_fp8 = dtype == DType::fp8_e4m3;
    const DType io_dtype = is_fp8 ? GENERATE(DType::fp16, DType::bf16) : dtype;
    const auto order = GENERATE(PoolOrder::nhd, PoolOrder::hnd, PoolOrder::interleaved);
    check_gather({.shape = {.num_q_heads = 8, .num_kv_heads = 2, .head_dim = 64},
                  .block_size = 16,
                  .seq_lens = {1, 16, 0, 17, 130, 15},
                  .dtype = dtype,
                  .io_dtype = io_dtype,
                  .order = order,
                  .scaled = is_fp8});
}

TEST_CASE("gather_attention equals the oracle for awkward sizes", "[kernels][gather]") {
    needs_gpu();
    const auto block_size = GENERATE(1, 3, 16);
    const auto head_dim = GENERATE(8, 40, 96, 128, 256);
    const auto group_size = GENERATE(1, 3, 4);
    check_gather({.shape = {.num_q_heads = 2 * group_size, .num_kv_heads = 2, .head_dim = head_dim},
                  .block_size = block_size,
                  .seq_lens = {5, 0, 33, 4},
                  .dtype = DType::bf16,
                  .io_dtype = DType::bf16});
}

TEST_CASE("gather_attention equals the oracle for a peaky softmax and a long history",
          "[kernels][gather]") {
    needs_gpu();
    check_gather({.shape = {.num_q_heads = 4, .num_kv_heads = 1, .head_dim = 64},
                  .block_size = 16,
                  .seq_lens = {3001},
                  .q_scale = 30.0f});
}

TEST_CASE("gather_attention gives the same bits again", "[kernels][gather]") {
    needs_gpu();
    PagedCase test({.shape = {.num_q_heads = 8, .num_kv_heads = 2, .head_dim = 64},
                    .block_size = 16,
                    .seq_lens = {500, 3}});
    DeviceCase device(test.params());
    const DeviceResult first = run_gather(device);
    const DeviceResult second = run_gather(device);
    CHECK(first.out == second.out);
    CHECK(std::memcmp(first.lse.data(), second.lse.data(), first.lse.size() * sizeof(float)) == 0);
}

TEST_CASE("gather_attention leaves out blocks that are not in the pool", "[kernels][gather]") {
    needs_gpu();
    PagedCase test({.shape = {.num_q_heads = 2, .num_kv_heads = 2, .head_dim = 16},
                    .block_size = 4,
                    .seq_lens = {12, 8}});
    PagedAttentionParams host = test.params();
    DeviceCase device(host);
    BlockTables tables = test.tables();
    const auto row = static_cast<std::size_t>(tables.max_blocks_per_seq);
    tables.block_tables[1] = -1;
    tables.block_tables[2] = host.kv.layout.num_blocks;
    tables.block_tables[row] = -7;  // both blocks of the second sequence: it is empty then
    tables.block_tables[row + 1] = 1 << 30;
    device.set_tables(tables);
    const DeviceResult result = run_gather(device);

    const std::vector<std::int32_t> visible = {4, 0};
    host.seq_lens = visible.data();
    require_oracle(result, host);
}

TEST_CASE("OPEN-07: gather_attention refuses tokens whose elements leave 32 bits",
          "[kernels][gather]") {
    PagedAttentionParams params;  // of no sequences: nothing is read, and no GPU needed
    const auto workspace_bytes = [&](std::int32_t num_heads) {
        params.kv.layout = nanoserve::nhd_layout(
            {.num_blocks = 1, .block_size = 1, .num_kv_heads = num_heads, .head_dim = 256});
        params.num_q_heads = num_heads;
        return gather_workspace_bytes(params);
    };
    CHECK(workspace_bytes((1 << 23) - 1) == 0);
    CHECK_THROWS_MATCHES(
        workspace_bytes(1 << 23), std::invalid_argument,
        Message("K of a token has 2147483648 elements; gather_attention takes 2147483647"));
}

TEST_CASE("gather_attention refuses what it doesn't take before it launches", "[kernels][gather]") {
    needs_gpu();
    const AttentionShape shape = {.num_q_heads = 2, .num_kv_heads = 2, .head_dim = 16};
    PagedCase test({.shape = shape});
    const DeviceCase device(test.params());
    const std::size_t needed = gather_workspace_bytes(device.params());
    const DeviceBuffer workspace(needed);
    CHECK(needed ==
          2u * 4 * 4 * 2 * 16 * 4);  // K and V, 4 blocks of 4 tokens, 2 heads of 16 floats
    CHECK_THROWS_AS(gather_attention(device.params(), workspace.data(), needed - 1, nullptr),
                    std::invalid_argument);
    CHECK_THROWS_AS(gather_attention(device.params(), workspace.data() + 4, needed, nullptr),
                    std::invalid_argument);
    const auto refused_size = [](const CaseSpec& spec) {
        PagedCase other(spec);
        const DeviceCase on_device(other.params());
        CHECK_THROWS_AS(gather_workspace_bytes(on_device.params()), std::invalid_argument);
    };
    refused_size({.shape = shape, .dtype = DType::bf16, .io_dtype = DType::fp32});
    refused_size({.shape = shape, .dtype = DType::fp8_e4m3, .io_dtype = DType::fp32});
    refused_size({.shape = {.num_q_heads = 2, .num_kv_heads = 2, .head_dim = 6}});
    refused_size({.shape = {.num_q_heads = 2, .num_kv_heads = 2, .head_dim = 512}});
}
