// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// paged_decode on a GPU: the oracle's numbers for every way of cutting up the work, and nothing
// read that is not the sequence's own.
#include "kernels/kernel_checks.hpp"
#include "support/device_case.hpp"
#include "support/needs_gpu.hpp"

#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>
#include <kernels/clock_graph.hpp>
#include <kernels/decode/rounding_bounds.hpp>
#include <kernels/paged_decode.hpp>
#include <kernels/split_kv.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <random>

using Catch::Generators::from_range;
using Catch::Matchers::Message;
using Catch::Matchers::WithinAbs;
using nanoserve::BlockId;
using nanoserve::BlockTables;
using nanoserve::DecodePlan;
using nanoserve::DType;
using nanoserve::paged_decode;
using nanoserve::PagedAttentionParams;
using nanoserve::testing::CaseSpec;
using nanoserve::testing::DeviceBuffer;
using nanoserve::testing::DeviceCase;
using nanoserve::testing::DeviceResult;
using nanoserve::testing::needs_gpu;
using nanoserve::testing::PagedCase;
using nanoserve::testing::PoolOrder;
using nanoserve::testing::same_bits;
using nanoserve::testing::without_absent_blocks;

namespace {

DeviceResult run(DeviceCase& device, const std::optional<DecodePlan>& plan = {}) {
    device.poison_outputs();
    if (plan) {
        paged_decode(device.params(), *plan, nullptr, device.status());
    } else {
        paged_decode(device.params(), nullptr, device.status());
    }
    return device.result();
}

void require_oracle(const DeviceResult& result, const PagedAttentionParams& params) {
    nanoserve::testing::require_within(result.out.data(), result.lse.data(), params,
                                       nanoserve::paged_decode_rounding_bounds(params));
}

void check(PagedCase& test, const std::optional<DecodePlan>& plan = {}) {
    CAPTURE(test.describe());
    const PagedAttentionParams params = test.params();
    DeviceCase device(params);
    const DeviceResult result = run(device, plan);
    REQUIRE(result.status == 0);
    require_oracle(result, params);
}

void check(const CaseSpec& spec, const std::optional<DecodePlan>& plan = {}) {
    PagedCase test(spec);
    check(test, plan);
}

// What paged_decode takes, with pools of io_dtype or, `fp8`, of fp8 with scales.
CaseSpec spec_of(DType io_dtype, std::vector<std::int32_t> seq_lens, bool fp8 = false) {
    return {.shape = {.num_q_heads = 16, .num_kv_heads = 4, .head_dim = 64},
            .block_size = 16,
            .seq_lens = std::move(seq_lens),
            .dtype = fp8 ? DType::fp8_e4m3 : io_dtype,
            .io_dtype = io_dtype,
            .scaled = fp8};
}

constexpr std::array kHeadDims = {64, 96, 128, 192, 256};
constexpr std::array kFp8HeadDims = {64, 128, 256};

bool takes(std::int32_t head_dim, bool fp8) {
    return !fp8 ||
           std::find(kFp8HeadDims.begin(), kFp8HeadDims.end(), head_dim) != kFp8HeadDims.end();
}

}  // namespace

TEST_CASE("paged_decode agrees with the oracle for histories of one tile in tables of that room",
          "[kernels][decode]") {
    needs_gpu();
    const std::int32_t head_dim = GENERATE(from_range(kHeadDims));
    const std::int32_t group_size = GENERATE(1, 3, 5, 8, 9, 16);
    const bool fp8 = GENERATE(false, true);
    if (!takes(head_dim, fp8)) {
        return;
    }
    CaseSpec spec =
        spec_of(group_size % 2 == 0 ? DType::fp16 : DType::bf16, {16, 1, 0, 7, 15, 8, 3}, fp8);
    spec.shape = {.num_q_heads = 4 * group_size, .num_kv_heads = 4, .head_dim = head_dim};
    spec.spare_entry = false;
    for (const std::int32_t block_size : {1, 4, 16}) {
        spec.block_size = block_size;
        for (const int heads : {1, 4}) {
            const DecodePlan plan = {.num_warps = heads, .heads_per_block = heads};
            spec.sinks = false;
            spec.sliding_window = 0;
            check(spec, plan);
            spec.sinks = true;
            check(spec, plan);
            spec.sliding_window = 5;
            check(spec, plan);
        }
    }
}

TEST_CASE("the kernel of one tile clamps lengths and leaves out blocks, and says so",
          "[kernels][decode]") {
    needs_gpu();
    CaseSpec spec = spec_of(DType::bf16, {16, 16, 16, 16, 16}, GENERATE(false, true));
    spec.block_size = GENERATE(4, 16);
    spec.spare_entry = false;
    PagedCase test(spec);
    constexpr std::int32_t kMost = std::numeric_limits<std::int32_t>::max();
    const std::size_t width = 16 / static_cast<std::size_t>(spec.block_size);
    test.tables().block_tables[4 * width] = kMost;  // the first block of the last sequence
    BlockTables given = test.tables();
    given.seq_lens = {std::numeric_limits<std::int32_t>::min(), -1, 17, kMost, 16};
    PagedAttentionParams params = test.params();
    set_block_tables(params, given);
    DeviceCase device(params);
    const DeviceResult result = run(device, DecodePlan{});
    CHECK(result.status == (nanoserve::kClampedLength | nanoserve::kAbsentBlock));
    BlockTables clamped = given;
    clamped.seq_lens = {0, 0, 16, 16, 16};
    BlockTables rest = without_absent_blocks(clamped, params.kv.layout);
    set_block_tables(params, rest);
    require_oracle(result, params);
}

TEMPLATE_TEST_CASE_SIG("paged_decode agrees with the oracle however the work is cut up",
                       "[kernels][decode]", ((int num_splits), num_splits), 1, 2, 4, 8) {
    needs_gpu();
    const int num_warps = GENERATE(1, 2, 4, 8);
    const int heads = GENERATE(1, 2, 4);
    if (heads > num_warps) {
        return;
    }
    const DType dtype = GENERATE(DType::bf16, DType::fp16);
    const bool fp8 = GENERATE(false, true);
    const bool evict_first = GENERATE(false, true);
    CAPTURE(num_warps, heads, num_splits, evict_first);
    check(spec_of(dtype, {0, 1, 15, 16, 17, 300, 1037}, fp8),
          DecodePlan{num_warps, heads, num_splits, evict_first});
}

TEMPLATE_TEST_CASE_SIG("paged_decode agrees with the oracle at every group size",
                       "[kernels][decode]", ((std::int32_t head_dim), head_dim), 64, 96, 128, 192,
                       256) {
    needs_gpu();
    const std::int32_t group_size = GENERATE(range(1, 17));
    const bool fp8 = GENERATE(false, true);
    if (!takes(head_dim, fp8)) {
        return;
    }
    CaseSpec spec = spec_of(DType::bf16, {0, 33, 700}, fp8);
    spec.shape = {.num_q_heads = 2 * group_size, .num_kv_heads = 2, .head_dim = head_dim};
    check(spec);
    check(spec, DecodePlan{8, 2, 4, false});
    check(spec, DecodePlan{2, 2, 1, false});  // nothing to merge
}

TEMPLATE_TEST_CASE_SIG("paged_decode agrees in clusters of eight for several heads of any group",
                       "[kernels][decode]", ((std::int32_t head_dim), head_dim), 64, 128) {
    needs_gpu();
    const std::int32_t group_size = GENERATE(3, 7, 16);
    const int heads = GENERATE(2, 4);
    CaseSpec spec = spec_of(DType::bf16, {0, 33, 1500}, GENERATE(false, true));
    spec.shape = {.num_q_heads = 4 * group_size, .num_kv_heads = 4, .head_dim = head_dim};
    check(spec, DecodePlan{8, heads, 8, true});
    check(spec, DecodePlan{4, heads, 8, false});
}

TEST_CASE("paged_decode agrees for every block size, storage type and order of the pool",
          "[kernels][decode]") {
    needs_gpu();
    const bool fp8 = GENERATE(false, true);
    CaseSpec spec = spec_of(GENERATE(DType::bf16, DType::fp16), {}, fp8);
    spec.block_size = GENERATE(1, 2, 4, 8, 16, 32, 64, 256);
    spec.order = GENERATE(PoolOrder::nhd, PoolOrder::hnd, PoolOrder::interleaved);
    spec.shape.head_dim = GENERATE(from_range(kHeadDims));
    if (!takes(spec.shape.head_dim, fp8)) {
        return;
    }
    const std::int32_t edge = spec.block_size;
    spec.seq_lens = {0, 1, edge - 1, edge, edge + 1, 2 * edge + 17};
    check(spec);
}

TEST_CASE("paged_decode agrees with the oracle on random batches", "[kernels][decode]") {
    needs_gpu();
    const auto seed = static_cast<std::uint32_t>(GENERATE(range(1, 21)));
    std::mt19937 random(seed);
    const auto pick = [&](int low, int high) {
        return std::uniform_int_distribution<int>(low, high)(random);
    };
    const bool fp8 = pick(0, 1) == 0;
    CaseSpec spec = spec_of(pick(0, 1) == 0 ? DType::bf16 : DType::fp16, {}, fp8);
    spec.shape.num_kv_heads = pick(1, 9);
    spec.shape.num_q_heads = spec.shape.num_kv_heads * pick(1, 16);
    spec.shape.head_dim = fp8 ? kFp8HeadDims[static_cast<std::size_t>(pick(0, 2))]
                              : kHeadDims[static_cast<std::size_t>(pick(0, 4))];
    spec.block_size = 1 << pick(0, 6);
    spec.seed = seed;
    for (int i = pick(1, 6); i > 0; --i) {
        spec.seq_lens.push_back(pick(0, 1) == 0 ? pick(0, 40) : pick(0, 900));
    }
    check(spec);
}

TEST_CASE("paged_decode agrees when one token takes nearly all the weight", "[kernels][decode]") {
    needs_gpu();
    CaseSpec spec = spec_of(DType::bf16, {300}, GENERATE(false, true));
    spec.q_scale = 40.0f;
    spec.seed = 7;
    check(spec);
}

// Each token's score passes the one before by more than the slack, so the maximum moves with every
// tile.
TEST_CASE("paged_decode moves its sums when scores grow", "[kernels][decode]") {
    needs_gpu();
    PagedCase test(spec_of(DType::bf16, {200}, GENERATE(false, true)));
    test.set_q(0.25f);
    for (int t = 0; t < 200; ++t) {
        const auto block = test.tables().block_tables[static_cast<std::size_t>(t / 16)];
        for (int head = 0; head < 4; ++head) {
            test.set_row(true, block, t % 16, head, static_cast<float>(t) / 4.0f);
        }
    }
    check(test, GENERATE(DecodePlan{1, 1, 1, false}, DecodePlan{8, 1, 1, false},
                         DecodePlan{4, 4, 2, false}));
}

TEST_CASE("paged_decode takes sm_scale as given: 0 and a negative one too", "[kernels][decode]") {
    needs_gpu();
    PagedCase test(spec_of(DType::fp16, {37}, GENERATE(false, true)));
    PagedAttentionParams params = test.params();
    params.sm_scale = GENERATE(0.0f, -0.5f, 1.0f);
    DeviceCase device(params);
    require_oracle(run(device), params);
}

// An fp16 ends at 2^16. Each query head has its own size: what is large in one must not push what
// is small in another out of sight.
TEST_CASE("paged_decode reads fp8 pools with bf16 queries of any size", "[kernels][decode]") {
    needs_gpu();
    CaseSpec spec = spec_of(DType::bf16, {50, 3}, true);
    spec.shape.head_dim = GENERATE(64, 128);
    PagedCase test(spec);
    PagedAttentionParams params = test.params();
    const float first = GENERATE(0x1p-90f, 0x1p-20f, 1.0f, 0x1p60f, 0x1p120f);
    params.sm_scale = 0.25f / first;
    const auto* given = static_cast<const nanoserve::Bf16*>(params.q);
    std::vector<nanoserve::Bf16> q(2 * 16 * static_cast<std::size_t>(spec.shape.head_dim));
    for (std::size_t i = 0; i < q.size(); ++i) {
        const std::size_t head = i / static_cast<std::size_t>(spec.shape.head_dim) % 16;
        const float factor =
            first * std::exp2(-static_cast<float>(head));  // the later, the smaller
        q[i] = nanoserve::from_float<nanoserve::Bf16>(nanoserve::to_float(given[i]) * factor);
    }
    params.q = q.data();
    DeviceCase device(params);
    require_oracle(run(device), params);
}

// A piece whose lse were -infinity would be left out of a merge, and its fault with it.
TEST_CASE("a NaN in a query is in its head's output and lse, and in no other's",
          "[kernels][decode]") {
    needs_gpu();
    const std::int32_t length = GENERATE(16, 700);
    PagedCase test(spec_of(DType::bf16, {length}, GENERATE(false, true)));
    PagedAttentionParams params = test.params();
    constexpr std::size_t kHeadDim = 64, kNumHeads = 16, kFaulty = 5;
    const auto* given = static_cast<const nanoserve::Bf16*>(params.q);
    std::vector<nanoserve::Bf16> q(given, given + kNumHeads * kHeadDim);
    q[kFaulty * kHeadDim + 7] = nanoserve::from_float<nanoserve::Bf16>(std::nanf(""));
    params.q = q.data();
    DeviceCase device(params);
    const DeviceResult result = run(device);
    for (std::size_t head = 0; head < kNumHeads; ++head) {
        CAPTURE(head);
        CHECK(std::isnan(result.lse[head]) == (head == kFaulty));
        for (std::size_t d = 0; d < kHeadDim; ++d) {
            nanoserve::Bf16 x;
            std::memcpy(&x, result.out.data() + (head * kHeadDim + d) * sizeof(x), sizeof(x));
            REQUIRE(std::isnan(nanoserve::to_float(x)) == (head == kFaulty));
        }
    }
}

TEST_CASE("paged_decode reads q out of a packed row, and may leave out lse", "[kernels][decode]") {
    needs_gpu();
    PagedCase test(spec_of(DType::bf16, {9, 40}));
    PagedAttentionParams params = test.params();
    DeviceCase dense(params);
    const DeviceResult expected = run(dense);
    const std::size_t row = 16 * 64;
    std::vector<std::uint16_t> packed(2 * (row + 64), 0x7fff);
    for (std::size_t seq = 0; seq < 2; ++seq) {
        std::memcpy(packed.data() + seq * (row + 64),
                    static_cast<const std::uint16_t*>(params.q) + seq * row,
                    row * sizeof(std::uint16_t));
    }
    params.q = packed.data();
    params.q_stride = static_cast<std::int64_t>(row) + 64;
    DeviceCase strided(params);
    CHECK(same_bits(run(strided), expected));
    params.lse = nullptr;
    DeviceCase without_lse(params);
    const DeviceResult result = run(without_lse);
    CHECK(result.out == expected.out);
    CHECK(std::isnan(result.lse[0]));
}

TEST_CASE("paged_decode leaves out absent blocks and clamps lengths, and the status says so",
          "[kernels][decode]") {
    needs_gpu();
    const std::int32_t bad = GENERATE(-1, 1 << 30, std::numeric_limits<std::int32_t>::min());
    const std::size_t place = GENERATE(0, 1, 3, 4);
    const bool with_the_next = GENERATE(false, true);  // fp8 tiles are taken in by twos
    const DecodePlan plan = GENERATE(DecodePlan{1, 1, 1, false}, DecodePlan{8, 2, 2, false});
    PagedCase test(spec_of(DType::bf16, {76, 20}, GENERATE(false, true)));
    test.tables().block_tables[place] = bad;
    if (with_the_next && place < 4) {
        test.tables().block_tables[place + 1] = bad;
    }
    PagedAttentionParams params = test.params();
    DeviceCase device(params);
    const DeviceResult result = run(device, plan);
    CHECK(result.status == nanoserve::kAbsentBlock);
    nanoserve::BlockTables rest = without_absent_blocks(test.tables(), params.kv.layout);
    nanoserve::set_block_tables(params, rest);
    require_oracle(result, params);

    PagedCase too_long(spec_of(DType::bf16, {60, 20}));
    params = too_long.params();
    const std::int32_t room =
        static_cast<std::int32_t>(params.max_blocks_per_seq * params.kv.layout.block_size);
    const std::vector<std::int32_t> impossible = {room + 5, -3};
    DeviceCase clamped(params);
    clamped.write_seq_lens(impossible);
    CHECK((run(clamped, plan).status & nanoserve::kClampedLength) != 0);
}

TEST_CASE("paged_decode leaves out the absent blocks of a tile, and only those",
          "[kernels][decode]") {
    needs_gpu();
    CaseSpec spec = spec_of(DType::bf16, {61, 35}, GENERATE(false, true));
    spec.block_size = GENERATE(1, 2, 4, 8);
    spec.shape.head_dim = GENERATE(64, 128, 256);
    const DecodePlan plan = GENERATE(DecodePlan{1, 1, 1, false}, DecodePlan{8, 2, 2, false});
    PagedCase test(spec);
    const auto one_tile = static_cast<std::size_t>(16 / spec.block_size);
    std::vector<BlockId>& tables = test.tables().block_tables;
    tables[0] = -1;                  // the first token's
    tables[one_tile - 1] = 1 << 30;  // the last of a tile
    std::fill_n(tables.begin() + static_cast<std::ptrdiff_t>(2 * one_tile), one_tile,
                -5);                                              // a tile
    tables[static_cast<std::size_t>(60 / spec.block_size)] = -1;  // the last token's
    PagedAttentionParams params = test.params();
    DeviceCase device(params);
    const DeviceResult result = run(device, plan);
    CHECK(result.status == nanoserve::kAbsentBlock);
    nanoserve::BlockTables rest = without_absent_blocks(test.tables(), params.kv.layout);
    nanoserve::set_block_tables(params, rest);
    require_oracle(result, params);
}

TEST_CASE("paged_decode gives the same bits every time, and a captured one follows the lengths",
          "[kernels][decode]") {
    needs_gpu();
    const DecodePlan plan = GENERATE(DecodePlan{1, 1, 1, false}, DecodePlan{8, 1, 8, false});
    PagedCase test(spec_of(DType::bf16, {500, 1, 77}));
    PagedAttentionParams params = test.params();
    DeviceCase device(params);
    const DeviceResult first = run(device, plan);
    for (int i = 0; i < 5; ++i) {
        CHECK(same_bits(run(device, plan), first));
    }

    cudaStream_t stream = nullptr;
    NANOSERVE_CUDA_TRY(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    const nanoserve::GraphReplay replay(
        stream, [&] { paged_decode(device.params(), plan, stream, device.status()); });
    for (const std::vector<std::int32_t>& seq_lens :
         {std::vector<std::int32_t>{3, 0, 50}, std::vector<std::int32_t>{499, 1, 77}}) {
        device.write_seq_lens(seq_lens);
        device.poison_outputs();
        NANOSERVE_CUDA_TRY(cudaDeviceSynchronize());
        replay.launch();
        params.seq_lens = seq_lens.data();
        require_oracle(device.result(), params);
    }
    (void)cudaStreamDestroy(stream);
}

TEST_CASE("paged_decode refuses what it does not take, before a launch", "[kernels][decode]") {
    needs_gpu();
    PagedCase test(spec_of(DType::bf16, {20}));
    const DeviceCase device(test.params());
    PagedAttentionParams params = device.params();
    const auto refuses = [&](const DecodePlan& plan, const char* text) {
        CHECK_THROWS_MATCHES(paged_decode(params, plan, nullptr), std::invalid_argument,
                             Message(text));
    };
    refuses({3, 1, 1, false}, "num_warps is 3; it must be 1, 2, 4 or 8");
    refuses({8, 1, 16, false}, "num_splits is 16; it must be 1, 2, 4 or 8");
    refuses({1, 2, 1, false}, "heads_per_block is 2; there are 1 warps");
    refuses({8, 8, 1, false}, "heads_per_block is 8; it must divide 4 KV heads");
    CaseSpec wide = spec_of(DType::bf16, {20});
    wide.shape = {.num_q_heads = 128, .num_kv_heads = 8, .head_dim = 256};
    PagedCase wide_test(wide);
    const DeviceCase wide_device(wide_test.params());
    CHECK_THROWS_MATCHES(paged_decode(wide_device.params(), DecodePlan{8, 8, 2, false}, nullptr),
                         std::invalid_argument,
                         Message("the plan takes 279568 bytes of shared memory; a thread block "
                                 "has 232448"));
    params.io_dtype = DType::fp32;
    refuses({1, 1, 1, false},
            "paged_decode takes bf16 or fp16 for q and out, and the same or fp8_e4m3 for the "
            "pool");
    params.num_seqs = 0;
    params.io_dtype = DType::bf16;
    CHECK_NOTHROW(paged_decode(params, nullptr));
}

// Needs no GPU: a plan is not asked for before the sizes are looked at.
TEST_CASE("paged_decode and the sizes of workspaces refuse sizes that can't be",
          "[kernels][decode]") {
    PagedCase test(spec_of(DType::bf16, {20}));
    const auto refused = [&](auto change, const char* text) {
        PagedAttentionParams params = test.params();
        change(params);
        CHECK_THROWS_MATCHES(paged_decode(params, nullptr), std::invalid_argument, Message(text));
        for (const int num_splits : {1, 2}) {
            CHECK_THROWS_MATCHES(nanoserve::split_kv_workspace_bytes(params, num_splits),
                                 std::invalid_argument, Message(text));
        }
    };
    refused([](auto& p) { p.kv.layout.block_size = 0; },
            "block_size is 0; it must be at least 1 token");
    refused([](auto& p) { p.num_seqs = -1; }, "num_seqs is -1; it must not be negative");
}

// One token each, in one of four blocks: its weight is exactly 1, so out is its V row.
TEST_CASE("paged_decode takes more sequences than a grid has rows", "[kernels][decode]") {
    needs_gpu();
    constexpr std::size_t kNumSeqs = 65535 + 4;
    constexpr std::size_t kHeadDim = 64;
    constexpr std::size_t kBlockElements = 16 * kHeadDim;
    const auto value_of = [](std::size_t block) {
        return nanoserve::from_float<nanoserve::Bf16>(1.5f + static_cast<float>(block));
    };
    std::vector<nanoserve::Bf16> k(4 * kBlockElements), v(4 * kBlockElements),
        q(kNumSeqs * kHeadDim);
    for (std::size_t i = 0; i < v.size(); ++i) {
        v[i] = value_of(i / kBlockElements);
    }
    std::vector<nanoserve::BlockId> tables(kNumSeqs);
    for (std::size_t seq = 0; seq < kNumSeqs; ++seq) {
        tables[seq] = static_cast<nanoserve::BlockId>(seq * 7 % 4);
    }
    const DeviceBuffer k_cache(k), v_cache(v), queries(q), block_tables(tables),
        seq_lens(std::vector<std::int32_t>(kNumSeqs, 1)), out(q.size() * sizeof(q[0]));
    PagedAttentionParams params;
    params.q = queries.data();
    params.out = out.data();
    params.io_dtype = DType::bf16;
    params.num_q_heads = 1;
    params.kv = {k_cache.data(), v_cache.data(),
                 nanoserve::nhd_layout({.dtype = DType::bf16,
                                        .num_blocks = 4,
                                        .block_size = 16,
                                        .num_kv_heads = 1,
                                        .head_dim = kHeadDim})};
    params.block_tables = block_tables.as<nanoserve::BlockId>();
    params.seq_lens = seq_lens.as<std::int32_t>();
    params.num_seqs = kNumSeqs;
    params.max_blocks_per_seq = 1;
    paged_decode(params, nullptr);
    const auto result = out.to_host<nanoserve::Bf16>();
    std::size_t num_wrong = 0;
    for (std::size_t i = 0; i < result.size(); ++i) {
        num_wrong +=
            result[i].bits != value_of(static_cast<std::size_t>(tables[i / kHeadDim])).bits;
    }
    CHECK(num_wrong == 0);
}
