// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include "support/device_case.hpp"
#include "support/needs_gpu.hpp"
#include "support/paged_case.hpp"

#include <nanoserve/attention/read_floor.hpp>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <kernels/ceilings.hpp>
#include <kernels/cuda_error.hpp>

#include <cstdint>
#include <numeric>
#include <stdexcept>
#include <vector>

using namespace nanoserve;
using Catch::Matchers::Message;
using nanoserve::testing::CaseSpec;
using nanoserve::testing::DeviceBuffer;
using nanoserve::testing::DeviceCase;
using nanoserve::testing::needs_gpu;
using nanoserve::testing::PagedCase;
using nanoserve::testing::PoolOrder;

namespace {

std::uint32_t checksum_of(const PagedAttentionParams& device, PoolOrder order) {
    const DeviceBuffer checksum(std::vector<std::uint32_t>{0});
    const auto load_only = order == PoolOrder::hnd ? load_only_hnd : load_only_nhd;
    load_only(device, checksum.as<std::uint32_t>(), nullptr);
    return checksum.to_host<std::uint32_t>()[0];
}

// The GPU's checksum is the number that the CPU's read floor gives for the same rows.
void check_sum(const CaseSpec& spec) {
    PagedCase test(spec);
    CAPTURE(test.describe());
    const PagedAttentionParams host = test.params();
    const std::uint32_t sum = read_floor(host, FloorOrder::keys_then_values);
    REQUIRE(checksum_of(DeviceCase(host).params(), spec.order) == sum);
}

}  // namespace

TEST_CASE("load_only reads every K and V word of the batch once, for every size of row",
          "[kernels][ceilings]") {
    needs_gpu();
    const auto order = GENERATE(PoolOrder::nhd, PoolOrder::hnd);
    // Rows of 16 to 512 bytes; some leave lanes of a warp without a row.
    const auto head_dim = GENERATE(8, 32, 40, 64, 96, 128, 192, 256);
    check_sum({.shape = {.num_q_heads = 8, .num_kv_heads = 8, .head_dim = head_dim},
               .block_size = 16,
               .seq_lens = {16, 1, 0, 200, 15, 17},
               .dtype = DType::bf16,
               .io_dtype = DType::bf16,
               .order = order});
}

TEST_CASE("load_only reads rows of fp32", "[kernels][ceilings]") {
    needs_gpu();
    const auto head_dim = GENERATE(4, 96, 256, 512);
    check_sum({.shape = {.num_q_heads = 4, .num_kv_heads = 4, .head_dim = head_dim},
               .block_size = 8,
               .seq_lens = {100, 3}});
}

TEST_CASE("load_only counts bytes: it takes rows of fp8 as any others", "[kernels][ceilings]") {
    needs_gpu();
    const auto order = GENERATE(PoolOrder::nhd, PoolOrder::hnd);
    const auto head_dim = GENERATE(64, 128);
    check_sum({.shape = {.num_q_heads = 8, .num_kv_heads = 8, .head_dim = head_dim},
               .block_size = 16,
               .seq_lens = {16, 1, 0, 200, 15, 17},
               .dtype = DType::fp8_e4m3,
               .io_dtype = DType::bf16,
               .order = order,
               .scaled = true});
}

TEST_CASE("load_only takes any block size and any number of heads", "[kernels][ceilings]") {
    needs_gpu();
    const auto block_size = GENERATE(1, 3, 16, 64);
    const auto num_kv_heads = GENERATE(1, 3, 8, 17);
    check_sum({.shape = {.num_q_heads = num_kv_heads, .num_kv_heads = num_kv_heads, .head_dim = 64},
               .block_size = block_size,
               .seq_lens = {97, 3, 64},
               .dtype = DType::fp16,
               .io_dtype = DType::fp16});
}

TEST_CASE("load_only covers a long history that many thread blocks share", "[kernels][ceilings]") {
    needs_gpu();
    check_sum({.shape = {.num_q_heads = 8, .num_kv_heads = 8, .head_dim = 64},
               .block_size = 16,
               .seq_lens = {20011, 5},
               .dtype = DType::bf16,
               .io_dtype = DType::bf16});
}

TEST_CASE("load_only leaves out blocks that are not in the pool", "[kernels][ceilings]") {
    needs_gpu();
    PagedCase test({.shape = {.num_q_heads = 2, .num_kv_heads = 2, .head_dim = 64},
                    .block_size = 4,
                    .seq_lens = {12}});
    const PagedAttentionParams host = test.params();
    const std::uint32_t first_block_only = [&] {
        PagedAttentionParams shorter = host;
        const std::int32_t seq_len = 4;
        shorter.seq_lens = &seq_len;
        return read_floor(shorter, FloorOrder::keys_then_values);
    }();
    DeviceCase device(host);
    BlockTables tables = test.tables();
    tables.block_tables[1] = -1;
    tables.block_tables[2] = host.kv.layout.num_blocks;
    device.set_tables(tables);
    CHECK(checksum_of(device.params(), PoolOrder::nhd) == first_block_only);
    const DeviceBuffer checksum(std::vector<std::uint32_t>{0});
    load_only_by_head(device.params(), checksum.as<std::uint32_t>(), nullptr);
    CHECK(checksum.to_host<std::uint32_t>()[0] == first_block_only);
}

TEST_CASE("load_only_by_head reads every word once too, in any order of the pool",
          "[kernels][ceilings]") {
    needs_gpu();
    const auto order = GENERATE(PoolOrder::nhd, PoolOrder::hnd);
    const auto head_dim = GENERATE(8, 64, 128, 512);
    const auto block_size = GENERATE(1, 16);
    PagedCase test({.shape = {.num_q_heads = 3, .num_kv_heads = 3, .head_dim = head_dim},
                    .block_size = block_size,
                    .seq_lens = {1025, 16, 1, 0, 200},
                    .dtype = DType::bf16,
                    .io_dtype = DType::bf16,
                    .order = order});
    CAPTURE(test.describe());
    const DeviceBuffer checksum(std::vector<std::uint32_t>{0});
    load_only_by_head(DeviceCase(test.params()).params(), checksum.as<std::uint32_t>(), nullptr);
    CHECK(checksum.to_host<std::uint32_t>()[0] ==
          read_floor(test.params(), FloorOrder::keys_then_values));
}

TEST_CASE("load_only refuses another order and rows of another size, and says which",
          "[kernels][ceilings]") {
    needs_gpu();
    const auto refuses = [](const CaseSpec& spec, auto load_only) {
        PagedCase test(spec);
        const DeviceCase device(test.params());
        const DeviceBuffer checksum(sizeof(std::uint32_t));
        CHECK_THROWS_AS(load_only(device.params(), checksum.as<std::uint32_t>(), nullptr),
                        std::invalid_argument);
    };
    const AttentionShape shape = {.num_q_heads = 2, .num_kv_heads = 2, .head_dim = 64};
    refuses({.shape = shape, .order = PoolOrder::hnd}, load_only_nhd);
    refuses({.shape = shape, .order = PoolOrder::nhd}, load_only_hnd);
    refuses({.shape = {.num_q_heads = 2, .num_kv_heads = 2, .head_dim = 6}}, load_only_nhd);
    refuses({.shape = {.num_q_heads = 1, .num_kv_heads = 1, .head_dim = 516}}, load_only_nhd);
    refuses({.shape = {.num_q_heads = 1, .num_kv_heads = 1, .head_dim = 96}}, load_only_by_head);
    refuses({.shape = shape, .block_size = 3}, load_only_by_head);
}

TEST_CASE("load_only_by_head takes as many KV heads as a grid has room for, and refuses more",
          "[kernels][ceilings]") {
    const auto spec_of = [](std::int32_t num_heads) -> CaseSpec {
        return {.shape = {.num_q_heads = num_heads, .num_kv_heads = num_heads, .head_dim = 8},
                .block_size = 1,
                .seq_lens = {2},
                .dtype = DType::bf16,
                .io_dtype = DType::bf16};
    };
    PagedCase too_many(spec_of(65536));
    CHECK_THROWS_MATCHES(load_only_by_head(too_many.params(), nullptr, nullptr),
                         std::invalid_argument,
                         Message("num_kv_heads is 65536; load_only_by_head takes 65535"));
    needs_gpu();
    PagedCase most(spec_of(65535));
    const DeviceBuffer checksum(std::vector<std::uint32_t>{0});
    load_only_by_head(DeviceCase(most.params()).params(), checksum.as<std::uint32_t>(), nullptr);
    CHECK(checksum.to_host<std::uint32_t>()[0] ==
          read_floor(most.params(), FloorOrder::keys_then_values));
}

TEST_CASE("read_stream adds up every word of a buffer, whatever its length",
          "[kernels][ceilings]") {
    needs_gpu();
    const auto num_words = GENERATE(4u, 1024u, 8192u, 8196u, 5'000'000u);
    CAPTURE(num_words);
    std::vector<std::uint32_t> words(num_words);
    for (std::uint32_t i = 0; i < num_words; ++i) {
        words[i] = i * 2654435761u;
    }
    const DeviceBuffer data(words);
    const DeviceBuffer checksum(std::vector<std::uint32_t>{7});  // added to
    read_stream(data.data(), std::int64_t{num_words} * 4, checksum.as<std::uint32_t>(), nullptr);
    CHECK(checksum.to_host<std::uint32_t>()[0] ==
          std::accumulate(words.begin(), words.end(), std::uint32_t{7}));
    CHECK_THROWS_AS(read_stream(data.data() + 4, 16, checksum.as<std::uint32_t>(), nullptr),
                    std::invalid_argument);
    CHECK_THROWS_AS(read_stream(data.data(), 8, checksum.as<std::uint32_t>(), nullptr),
                    std::invalid_argument);
}
