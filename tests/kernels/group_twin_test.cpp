// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// The steps of shared_heads_attention and split_kv_attention on the CPU: the oracle's numbers, each
// byte of K and V once for its whole group, and nothing read that is not the sequence's own.
#include "kernels/kernel_checks.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>
#include <kernels/general/config.hpp>
#include <kernels/general/twin.hpp>
#include <kernels/shared_heads/counting_chunks.hpp>
#include <kernels/shared_heads/rounding_bounds.hpp>
#include <kernels/shared_heads/twin.hpp>

#include <random>

using Catch::Matchers::Message;
using Catch::Matchers::WithinRel;
using nanoserve::AccessReport;
using nanoserve::BlockTables;
using nanoserve::DType;
using nanoserve::PagedAttentionParams;
using nanoserve::split_kv_twin;
using nanoserve::ThreadOrder;
using nanoserve::testing::CaseSpec;
using nanoserve::testing::PagedCase;
using nanoserve::testing::PoolOrder;
using nanoserve::testing::require_each_byte;
using nanoserve::testing::require_within;
using nanoserve::testing::without_absent_blocks;

namespace {

constexpr int kDay22 = 0;  // in the place of a number of splits: shared_heads_attention

AccessReport run_twin(const PagedAttentionParams& params, int num_splits,
                      ThreadOrder order = ThreadOrder::ascending) {
    return num_splits == kDay22 ? nanoserve::shared_heads_twin(params, order)
                                : split_kv_twin(params, num_splits, order);
}

void require_oracle(const PagedAttentionParams& params, int num_splits) {
    require_within(params.out, params.lse, params,
                   nanoserve::shared_heads_rounding_bounds(params, num_splits));
}

// Thread blocks that read each row.
std::int32_t num_readings(const PagedAttentionParams& p) {
    return (p.num_q_heads / p.kv.layout.num_kv_heads + 7) / 8;
}

void check_twin(PagedCase& test, int num_splits) {
    CAPTURE(test.describe(), num_splits);
    const PagedAttentionParams params = test.params();
    const AccessReport report = run_twin(params, num_splits);
    REQUIRE(report.status == 0);
    require_oracle(params, num_splits);
    require_each_byte(report, params, num_readings(params));
}

void check_twin(const CaseSpec& spec, int num_splits) {
    PagedCase test(spec);
    check_twin(test, num_splits);
}

}  // namespace

TEST_CASE("the group's twin agrees with the oracle at every block size and block edge",
          "[shared_heads]") {
    const std::int32_t block_size = GENERATE(1, 3, 7, 16, 24, 32, 33, 256);
    const int num_splits = GENERATE(kDay22, 3);
    check_twin(
        {.block_size = block_size,
         .seq_lens = {0, 1, block_size - 1, block_size, block_size + 1, 5 * block_size + 2, 100}},
        num_splits);
}

TEST_CASE("the group's twin agrees at every row that is a power of two of chunks",
          "[shared_heads]") {
    const DType dtype = GENERATE(DType::fp32, DType::fp16, DType::bf16);
    const int chunks = GENERATE(1, 2, 4, 8, 16, 32);
    const int num_splits = GENERATE(kDay22, 2);
    const auto elements = static_cast<std::int32_t>(16 / bytes_of(dtype));
    check_twin({.shape = {.num_q_heads = 4, .num_kv_heads = 2, .head_dim = chunks * elements},
                .block_size = 5,
                .seq_lens = {13, 140},
                .dtype = dtype},
               num_splits);
}

TEST_CASE("the group's twin agrees at every group size, and reads large groups' rows again",
          "[shared_heads]") {
    const std::int32_t group_size = GENERATE(range(1, 19));
    check_twin({.shape = {.num_q_heads = 2 * group_size, .num_kv_heads = 2, .head_dim = 16},
                .seq_lens = {18}},
               GENERATE(kDay22, 2));
}

TEST_CASE("the group's twin agrees for every element type of q and out, and order of the pool",
          "[shared_heads]") {
    const DType dtype = GENERATE(DType::fp32, DType::fp16, DType::bf16);
    const DType io_dtype = GENERATE(DType::fp32, DType::fp16, DType::bf16);
    const PoolOrder order = GENERATE(PoolOrder::nhd, PoolOrder::hnd, PoolOrder::interleaved);
    check_twin({.shape = {.num_q_heads = 6, .num_kv_heads = 2, .head_dim = 32},
                .block_size = 6,
                .seq_lens = {0, 7, 33},
                .dtype = dtype,
                .io_dtype = io_dtype,
                .order = order},
               GENERATE(kDay22, 2));
}

TEST_CASE("the group's twin agrees for every number of splits, empty ones included", "[split]") {
    check_twin({.seq_lens = {0, 1, 16, 17, 200, 400}}, GENERATE(1, 2, 3, 5, 12, 25, 40));
}

TEST_CASE("the group's twin agrees when one token takes nearly all the weight", "[shared_heads]") {
    check_twin({.seq_lens = {300}, .q_scale = 40.0f, .seed = 7}, GENERATE(kDay22, 4));
}

TEST_CASE("the group's twin agrees on random shapes", "[shared_heads]") {
    const auto seed = static_cast<std::uint32_t>(GENERATE(range(1, 31)));
    std::mt19937 random(seed);
    const auto pick = [&](int low, int high) {
        return std::uniform_int_distribution<int>(low, high)(random);
    };
    CaseSpec spec{
        .shape = {.num_q_heads = 0, .num_kv_heads = pick(1, 5), .head_dim = 8 << pick(0, 4)},
        .block_size = pick(1, 70),
        .seq_lens = {},
        .dtype = static_cast<DType>(pick(0, 2)),
        .io_dtype = static_cast<DType>(pick(0, 2)),
        .order = static_cast<PoolOrder>(pick(0, 2)),
        .seed = seed};
    spec.shape.num_q_heads = spec.shape.num_kv_heads * pick(1, 9);
    for (int i = pick(1, 4); i > 0; --i) {
        spec.seq_lens.push_back(pick(0, 150));
    }
    check_twin(spec, pick(kDay22, 6));
}

// The bit patterns of a twin's outputs would show a lane that saw what another wrote too early.
TEST_CASE("lanes, warps and threads of the group's twin may run in any order", "[shared_heads]") {
    const int num_splits = GENERATE(kDay22, 3);
    PagedCase test({.shape = {.num_q_heads = 12, .num_kv_heads = 2, .head_dim = 32},
                    .block_size = 16,
                    .seq_lens = {500, 9},
                    .dtype = DType::bf16});
    (void)run_twin(test.params(), num_splits, ThreadOrder::ascending);
    const auto out = test.out();
    const auto lse = test.lse();
    (void)run_twin(test.params(), num_splits, ThreadOrder::descending);
    CHECK(test.out() == out);
    CHECK(test.lse() == lse);
}

TEST_CASE("scores that grow from tile to tile move the group's sums to the new maximum",
          "[shared_heads]") {
    PagedCase test({.shape = {.num_q_heads = 2, .num_kv_heads = 1, .head_dim = 8},
                    .block_size = 1,
                    .seq_lens = {600}});
    test.set_q(1.0f);
    for (int t = 0; t < 600; ++t) {
        const auto block = test.tables().block_tables[static_cast<std::size_t>(t)];
        test.set_row(true, block, 0, 0, static_cast<float>(t) / 4.0f);
    }
    check_twin(test, GENERATE(kDay22, 3));
}

TEST_CASE("the group's twin takes sm_scale as given: 0 and a negative one too", "[shared_heads]") {
    PagedCase test({.seq_lens = {37}});
    PagedAttentionParams params = test.params();
    params.sm_scale = GENERATE(0.0f, -0.5f, 1.0f);
    (void)nanoserve::shared_heads_twin(params);
    require_oracle(params, 1);
}

TEST_CASE("a used id outside the pool is an absent block to the group's twin", "[shared_heads]") {
    const int num_splits = GENERATE(kDay22, 2);
    const std::int32_t bad =
        GENERATE(-1, 1 << 30, std::numeric_limits<std::int32_t>::min(), -2 /* num_blocks */);
    const std::size_t place = GENERATE(0, 1, 3);
    PagedCase test({.block_size = 4, .seq_lens = {14, 5}});
    const nanoserve::KVLayout layout = test.params().kv.layout;
    test.tables().block_tables[place] = bad == -2 ? layout.num_blocks : bad;
    CAPTURE(test.tables().block_tables[place], place);
    const BlockTables rest = without_absent_blocks(test.tables(), layout);
    const AccessReport report = run_twin(test.params(), num_splits);
    CHECK(report.status == nanoserve::kAbsentBlock);
    PagedAttentionParams params = test.params();
    (void)run_twin(params, num_splits);
    set_block_tables(params, rest);
    require_oracle(params, num_splits);
    require_each_byte(report, params, 1);
}

TEST_CASE("a pool of no blocks has none absent where no token is read", "[shared_heads]") {
    const int num_splits = GENERATE(kDay22, 2);
    PagedCase test({.seq_lens = {0, 0}});
    PagedAttentionParams params = test.params();
    params.kv.layout.num_blocks = 0;
    CHECK(run_twin(params, num_splits).status == 0);
    CHECK(nanoserve::paged_attention_twin(params).status == 0);
}

TEST_CASE("an impossible length is clamped by the group's twin", "[shared_heads]") {
    PagedCase test({.block_size = 4, .seq_lens = {8, 7}});
    test.tables().max_blocks_per_seq = 2;
    std::erase(test.tables().block_tables, 1 << 30);  // the padding
    const auto [seq_len, clamped] =
        GENERATE(std::pair{9, 8}, std::pair{std::numeric_limits<std::int32_t>::max(), 8},
                 std::pair{-1, 0}, std::pair{std::numeric_limits<std::int32_t>::min(), 0});
    const int num_splits = GENERATE(kDay22, 2);
    test.tables().seq_lens[0] = seq_len;
    CAPTURE(seq_len);
    PagedAttentionParams params = test.params();
    CHECK(run_twin(params, num_splits).status == nanoserve::kClampedLength);
    test.tables().seq_lens[0] = clamped;
    require_oracle(params, num_splits);
}

TEST_CASE("the group's twin reads q out of a packed row, and may leave out lse", "[shared_heads]") {
    PagedCase test({.seq_lens = {9, 4}});
    (void)nanoserve::shared_heads_twin(test.params());
    const auto expected = test.out();
    PagedAttentionParams params = test.params();
    std::vector<float> packed(2 * 200, NAN);
    for (int seq = 0; seq < 2; ++seq) {
        std::copy_n(static_cast<const float*>(params.q) + seq * 128, 128,
                    packed.begin() + seq * 200);
    }
    params.q = packed.data();
    params.q_stride = 200;
    params.lse = nullptr;
    (void)nanoserve::shared_heads_twin(params);
    CHECK(test.out() == expected);
}

TEST_CASE("the picture shows what the whole group read, once", "[shared_heads]") {
    PagedCase test({.shape = {.num_q_heads = 2, .num_kv_heads = 1, .head_dim = 8},
                    .block_size = 4,
                    .seq_lens = {6}});
    test.tables().block_tables = {3, 1, -1};
    for (int t = 0; t < 6; ++t) {
        test.set_row(true, t < 4 ? 3 : 1, t % 4, 0, 1.0f);
        test.set_row(false, t < 4 ? 3 : 1, t % 4, 0, 1.0f);
    }
    CHECK(access_picture(nanoserve::shared_heads_twin(test.params())) ==
          "sequence 0        0    1    2    3    4\n"
          "KV head 0       K .... 11.. .... 1111 ....\n"
          "                V .... 11.. .... 1111 ....\n");
}

TEST_CASE("the counting chunks refuse what is not the sequence's own", "[shared_heads]") {
    PagedCase test({.block_size = 4, .seq_lens = {6, 4}});
    const PagedAttentionParams params = test.params();
    const nanoserve::SharedHeadsArgs args = nanoserve::make_shared_heads_args(params, nullptr);
    nanoserve::HeadAccess access;
    std::uint32_t status = 0;
    nanoserve::CountingChunks<float> memory(args, 0, 1, access, status);
    const auto index = [&](std::int64_t block, std::int64_t slot, std::int64_t head) {
        return static_cast<nanoserve::ChunkIndex>(params.kv.layout.offset(block, slot, head) / 4);
    };
    const auto second = memory.block_id(1);
    const auto theirs = params.block_tables[params.max_blocks_per_seq];
    const nanoserve::Chunk chunk = memory.key_chunk(index(second, 1, 1) + 3);
    CHECK(nanoserve::element_of<float>(chunk, 3) == params.kv.k_row<float>(second, 1, 1)[15]);
    CHECK(access.k_bytes == 16);
    CHECK(access.v_bytes == 0);
    CHECK_THROWS_AS(memory.key_chunk(index(second, 2, 1)), std::logic_error);    // past seq_len
    CHECK_THROWS_AS(memory.value_chunk(index(theirs, 0, 1)), std::logic_error);  // another's
    CHECK_THROWS_MATCHES(memory.key_chunk(index(second, 1, 0)), std::logic_error,
                         Message("read of chunk " + std::to_string(index(second, 1, 0)) +
                                 "; it is in no row of KV head 1"));
    CHECK_THROWS_AS(memory.block_id(2), std::logic_error);
}

TEST_CASE("a chunk holds 16 bytes of its row, of any type", "[shared_heads]") {
    const nanoserve::Chunk halves = {{0x3f803f00u, 0, 0, 0xc0003f80u}};
    CHECK(nanoserve::element_of<nanoserve::Bf16>(halves, 0) == 0.5f);
    CHECK(nanoserve::element_of<nanoserve::Bf16>(halves, 1) == 1.0f);
    CHECK(nanoserve::element_of<nanoserve::Bf16>(halves, 6) == 1.0f);
    CHECK(nanoserve::element_of<nanoserve::Bf16>(halves, 7) == -2.0f);
    const nanoserve::Chunk fp16 = {{0x3c003800u, 0, 0, 0}};
    CHECK(nanoserve::element_of<nanoserve::Fp16>(fp16, 0) == 0.5f);
    CHECK(nanoserve::element_of<nanoserve::Fp16>(fp16, 1) == 1.0f);
    const nanoserve::Chunk words = {{0, 0, 0x40400000u, 0}};
    CHECK(nanoserve::element_of<float>(words, 2) == 3.0f);
}

TEST_CASE("the bounds of one token with shared heads are what their sentences add up to",
          "[shared_heads]") {
    // n = T = 1: ds = 19 u S with S = 2, e = ds + (4 + 9 + 10 + 13 + 5 + 2) u, max |v| = 3.
    PagedCase test({.shape = {.num_q_heads = 1, .num_kv_heads = 1, .head_dim = 16},
                    .block_size = 1,
                    .seq_lens = {1}});
    test.set_q(0.5f);
    test.set_row(true, test.tables().block_tables[0], 0, 0, -1.0f);
    test.set_row(false, test.tables().block_tables[0], 0, 0, -3.0f);
    constexpr double u = 0x1p-24;
    const auto bounds = nanoserve::shared_heads_rounding_bounds(test.params());
    CHECK_THAT(bounds.out, WithinRel(3.0 * (2.0 * (19.0 * 2.0 + 43.0) + 2.0) * u, 1e-4));
    CHECK_THAT(bounds.lse, WithinRel((19.0 * 2.0 + 43.0 + 3.0 * 2.0) * u, 1e-4));
    const auto split = nanoserve::shared_heads_rounding_bounds(test.params(), 11);
    CHECK_THAT(split.lse, WithinRel((19.0 * 2.0 + 63.0 + 3.0 * 2.0) * u, 1e-4));
}
