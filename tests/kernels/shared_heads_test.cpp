// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// shared_heads_attention and split_kv_attention on a GPU: one suite for both, the oracle's numbers
// for every size and type they take, and nothing read that is not the sequence's own.
#include "kernels/kernel_checks.hpp"
#include "kernels/split_case.hpp"
#include "support/needs_gpu.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>
#include <kernels/clock_graph.hpp>

#include <cstring>
#include <random>

using Catch::Matchers::Message;
using Catch::Matchers::WithinRel;
using nanoserve::BlockTables;
using nanoserve::DType;
using nanoserve::PagedAttentionParams;
using nanoserve::testing::CaseSpec;
using nanoserve::testing::DeviceBuffer;
using nanoserve::testing::DeviceCase;
using nanoserve::testing::DeviceResult;
using nanoserve::testing::kDay22;
using nanoserve::testing::needs_gpu;
using nanoserve::testing::PagedCase;
using nanoserve::testing::PoolOrder;
using nanoserve::testing::require_within_shared;
using nanoserve::testing::same_bits;
using nanoserve::testing::SplitCase;
using nanoserve::testing::without_absent_blocks;

namespace {

void check(PagedCase& test, int num_splits) {
    CAPTURE(test.describe(), num_splits);
    const PagedAttentionParams params = test.params();
    const DeviceResult result = SplitCase(params, num_splits).run();
    REQUIRE(result.status == 0);
    require_within_shared(result, params, num_splits);
}

void check(const CaseSpec& spec, int num_splits) {
    PagedCase test(spec);
    check(test, num_splits);
}

CaseSpec bf16_spec(std::vector<std::int32_t> seq_lens) {
    return {.shape = {.num_q_heads = 8, .num_kv_heads = 2, .head_dim = 64},
            .block_size = 16,
            .seq_lens = std::move(seq_lens),
            .dtype = DType::bf16,
            .io_dtype = DType::bf16};
}

}  // namespace

TEST_CASE("shared heads agree with the oracle at every block size and block edge",
          "[kernels][shared_heads]") {
    needs_gpu();
    const std::int32_t block_size = GENERATE(1, 3, 7, 16, 24, 32, 33, 256);
    check({.block_size = block_size,
           .seq_lens = {0, 1, block_size - 1, block_size, block_size + 1, 5 * block_size + 2, 100}},
          GENERATE(kDay22, 3));
}

TEST_CASE("shared heads agree at every row that is a power of two of chunks",
          "[kernels][shared_heads]") {
    needs_gpu();
    const DType dtype = GENERATE(DType::fp32, DType::fp16, DType::bf16);
    const int chunks = GENERATE(1, 2, 4, 8, 16, 32);
    const auto elements = static_cast<std::int32_t>(16 / bytes_of(dtype));
    check({.shape = {.num_q_heads = 4, .num_kv_heads = 2, .head_dim = chunks * elements},
           .block_size = 5,
           .seq_lens = {13, 140, 1000},
           .dtype = dtype},
          GENERATE(kDay22, 2));
}

TEST_CASE("shared heads agree at every group size", "[kernels][shared_heads]") {
    needs_gpu();
    const std::int32_t group_size = GENERATE(range(1, 19));
    CaseSpec spec = bf16_spec({0, 33, 700});
    spec.shape = {
        .num_q_heads = 2 * group_size, .num_kv_heads = 2, .head_dim = GENERATE(64, 128, 256)};
    check(spec, GENERATE(kDay22, 4));
}

TEST_CASE("shared heads agree for every element type of q and out, and order of the pool",
          "[kernels][shared_heads]") {
    needs_gpu();
    const DType dtype = GENERATE(DType::fp32, DType::fp16, DType::bf16);
    const DType io_dtype = GENERATE(DType::fp32, DType::fp16, DType::bf16);
    const PoolOrder order = GENERATE(PoolOrder::nhd, PoolOrder::hnd, PoolOrder::interleaved);
    check({.shape = {.num_q_heads = 6, .num_kv_heads = 2, .head_dim = GENERATE(32, 64, 128)},
           .block_size = 6,
           .seq_lens = {0, 7, 33, 321},
           .dtype = dtype,
           .io_dtype = io_dtype,
           .order = order},
          GENERATE(kDay22, 2));
}

TEST_CASE("a history agrees however many splits it has, empty ones included",
          "[kernels][shared_heads]") {
    needs_gpu();
    check(bf16_spec({0, 1, 16, 17, 200, 400, 3000}), GENERATE(1, 2, 3, 5, 12, 25, 40, 200));
}

TEST_CASE("shared heads agree when one token takes nearly all the weight",
          "[kernels][shared_heads]") {
    needs_gpu();
    CaseSpec spec = bf16_spec({300});
    spec.q_scale = 40.0f;
    spec.seed = 7;
    check(spec, GENERATE(kDay22, 4));
}

TEST_CASE("shared heads agree on random shapes", "[kernels][shared_heads]") {
    needs_gpu();
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
        spec.seq_lens.push_back(pick(0, 1) == 0 ? pick(0, 150) : pick(0, 900));
    }
    check(spec, pick(kDay22, 6));
}

TEST_CASE("shared heads move their sums to the new maximum when scores grow",
          "[kernels][shared_heads]") {
    needs_gpu();
    PagedCase test({.shape = {.num_q_heads = 2, .num_kv_heads = 1, .head_dim = 8},
                    .block_size = 1,
                    .seq_lens = {600}});
    test.set_q(1.0f);
    for (int t = 0; t < 600; ++t) {
        const auto block = test.tables().block_tables[static_cast<std::size_t>(t)];
        test.set_row(true, block, 0, 0, static_cast<float>(t) / 4.0f);
    }
    check(test, GENERATE(kDay22, 3));
}

TEST_CASE("shared heads read blocks that stand twice in one table", "[kernels][shared_heads]") {
    needs_gpu();
    PagedCase test({.block_size = 4, .seq_lens = {12, 8}});
    auto& table = test.tables().block_tables;
    const auto width = static_cast<std::size_t>(test.tables().max_blocks_per_seq);
    table[1] = table[0];
    table[width] = table[2];
    check(test, GENERATE(kDay22, 2));
}

TEST_CASE("NaN in every slot that no sequence owns reaches no output of shared heads",
          "[kernels][shared_heads]") {
    needs_gpu();
    PagedCase test({.shape = {.num_q_heads = 1, .num_kv_heads = 1, .head_dim = 64},
                    .block_size = 16,
                    .seq_lens = {17}});
    test.set_q(0.0f);
    for (int t = 0; t < 17; ++t) {
        const auto block = test.tables().block_tables[static_cast<std::size_t>(t / 16)];
        test.set_row(true, block, t % 16, 0, 0.0f);
        test.set_row(false, block, t % 16, 0, static_cast<float>(t));
    }
    const DeviceResult result = SplitCase(test.params(), GENERATE(kDay22, 2)).run();
    test.out() = result.out;
    for (const float value : test.out_floats()) {
        CHECK_THAT(value, WithinRel(8.0f, 1e-6f));
    }
    CHECK_THAT(result.lse[0], WithinRel(2.833213f, 1e-6f));
}

TEST_CASE("query head h of shared heads reads KV head h / group_size", "[kernels][shared_heads]") {
    needs_gpu();
    const auto [num_q_heads, num_kv_heads] =
        GENERATE(std::pair{28, 4}, std::pair{48, 2}, std::pair{12, 12}, std::pair{8, 1});
    PagedCase test(
        {.shape = {.num_q_heads = num_q_heads, .num_kv_heads = num_kv_heads, .head_dim = 8},
         .seq_lens = {1}});
    for (int head = 0; head < num_kv_heads; ++head) {
        test.set_row(false, test.tables().block_tables[0], 0, head, static_cast<float>(head));
    }
    test.out() = SplitCase(test.params(), GENERATE(kDay22, 2)).run().out;
    const auto out = test.out_floats();
    for (int h = 0; h < num_q_heads; ++h) {
        CHECK(out[static_cast<std::size_t>(h * 8)] ==
              static_cast<float>(h / (num_q_heads / num_kv_heads)));
    }
}

TEST_CASE("shared heads take sm_scale as given: 0 and a negative one too",
          "[kernels][shared_heads]") {
    needs_gpu();
    PagedCase test(bf16_spec({37}));
    PagedAttentionParams params = test.params();
    params.sm_scale = GENERATE(0.0f, -0.5f, 1.0f);
    require_within_shared(SplitCase(params, kDay22).run(), params, 1);
}

TEST_CASE("shared heads read q out of a packed row at any alignment, and may leave out lse",
          "[kernels][shared_heads]") {
    needs_gpu();
    const int num_splits = GENERATE(kDay22, 2);
    PagedCase test(bf16_spec({9, 40}));
    PagedAttentionParams params = test.params();
    const DeviceResult expected = SplitCase(params, num_splits).run();
    constexpr std::size_t kRow = 8 * 64;
    std::vector<std::uint16_t> packed(2 * (kRow + 3), 0x7fff);
    for (std::size_t seq = 0; seq < 2; ++seq) {
        std::memcpy(packed.data() + seq * (kRow + 3),
                    static_cast<const std::uint16_t*>(params.q) + seq * kRow,
                    kRow * sizeof(std::uint16_t));
    }
    params.q = packed.data();
    params.q_stride = static_cast<std::int64_t>(kRow) + 3;
    CHECK(same_bits(SplitCase(params, num_splits).run(), expected));
    params.lse = nullptr;
    const DeviceResult without_lse = SplitCase(params, num_splits).run();
    CHECK(without_lse.out == expected.out);
    CHECK(std::isnan(without_lse.lse[0]));
}

TEST_CASE("shared heads read a pool with padded strides", "[kernels][shared_heads]") {
    needs_gpu();
    PagedCase test({.block_size = 3, .seq_lens = {8}});
    PagedAttentionParams params = test.params();
    const DeviceResult expected = SplitCase(params, kDay22).run();
    // The same rows with a hole of NaN behind each token.
    const auto& dense = params.kv.layout;
    nanoserve::KVLayout padded = dense;
    padded.token_stride += 4;
    padded.block_stride = padded.token_stride * dense.block_size + 8;
    const auto spread = [&](const void* pool) {
        std::vector<float> rows(static_cast<std::size_t>(padded.block_stride * padded.num_blocks),
                                NAN);
        for (std::int64_t block = 0; block < dense.num_blocks; ++block) {
            for (std::int64_t slot = 0; slot < dense.block_size; ++slot) {
                std::copy_n(static_cast<const float*>(pool) + dense.offset(block, slot, 0),
                            dense.token_stride, rows.begin() + padded.offset(block, slot, 0));
            }
        }
        return rows;
    };
    const DeviceBuffer k(spread(params.kv.k_cache)), v(spread(params.kv.v_cache));
    SplitCase device(params, kDay22);
    PagedAttentionParams on_device = device.params();
    on_device.kv = {.k_cache = k.data(), .v_cache = v.data(), .layout = padded};
    CHECK(same_bits(device.run(on_device), expected));
}

TEST_CASE("a used id outside the pool is an absent block to shared heads",
          "[kernels][shared_heads]") {
    needs_gpu();
    const int num_splits = GENERATE(kDay22, 2);
    const std::int32_t bad =
        GENERATE(-1, 1 << 30, std::numeric_limits<std::int32_t>::min(), -2 /* num_blocks */);
    const std::size_t place = GENERATE(0, 1, 3);
    PagedCase test(bf16_spec({60, 20}));
    const nanoserve::KVLayout layout = test.params().kv.layout;
    test.tables().block_tables[place] = bad == -2 ? layout.num_blocks : bad;
    CAPTURE(test.tables().block_tables[place], place);
    const DeviceResult result = SplitCase(test.params(), num_splits).run();
    CHECK(result.status == nanoserve::kAbsentBlock);
    const BlockTables rest = without_absent_blocks(test.tables(), layout);
    PagedAttentionParams params = test.params();
    set_block_tables(params, rest);
    require_within_shared(result, params, num_splits);
}

TEST_CASE("a pool of no blocks has none absent to shared heads where no token is read",
          "[kernels][shared_heads]") {
    needs_gpu();
    const int num_splits = GENERATE(kDay22, 2);
    PagedCase test(bf16_spec({0, 0}));
    SplitCase device(test.params(), num_splits);
    PagedAttentionParams on_device = device.params();
    on_device.kv.layout.num_blocks = 0;
    CHECK(device.run(on_device).status == 0);
}

TEST_CASE("an impossible length is clamped by shared heads, and the status says so",
          "[kernels][shared_heads]") {
    needs_gpu();
    const int num_splits = GENERATE(kDay22, 2);
    PagedCase test({.block_size = 4, .seq_lens = {8, 7}});
    test.tables().max_blocks_per_seq = 2;
    std::erase(test.tables().block_tables, 1 << 30);  // the padding
    const auto [seq_len, clamped] =
        GENERATE(std::pair{9, 8}, std::pair{std::numeric_limits<std::int32_t>::max(), 8},
                 std::pair{-1, 0}, std::pair{std::numeric_limits<std::int32_t>::min(), 0});
    test.tables().seq_lens[0] = seq_len;
    CAPTURE(seq_len);
    const DeviceResult result = SplitCase(test.params(), num_splits).run();
    CHECK(result.status == nanoserve::kClampedLength);
    test.tables().seq_lens[0] = clamped;
    require_within_shared(result, test.params(), num_splits);
}

TEST_CASE("shared heads give the same bits every time, and a row those that it has alone",
          "[kernels][shared_heads]") {
    needs_gpu();
    const int num_splits = GENERATE(kDay22, 7);
    PagedCase test(bf16_spec({1000, 0, 33, 257}));
    PagedAttentionParams params = test.params();
    SplitCase device(params, num_splits);
    const DeviceResult first = device.run();
    for (int i = 0; i < 30; ++i) {
        REQUIRE(same_bits(device.run(), first));
    }
    params.num_seqs = 1;
    const DeviceResult alone = SplitCase(params, num_splits).run();
    CHECK(std::equal(alone.out.begin(), alone.out.end(), first.out.begin()));
    CHECK(std::memcmp(alone.lse.data(), first.lse.data(), alone.lse.size() * sizeof(float)) == 0);
}

TEST_CASE("a captured read with shared heads reads the lengths of each replay",
          "[kernels][shared_heads]") {
    needs_gpu();
    const int num_splits = GENERATE(kDay22, 5);
    PagedCase test(bf16_spec({500, 1, 77}));
    PagedAttentionParams params = test.params();
    SplitCase device(params, num_splits);
    cudaStream_t stream = nullptr;
    NANOSERVE_CUDA_TRY(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    (void)device.run();
    const nanoserve::GraphReplay replay(stream, [&] { device.launch(device.params(), stream); });
    for (const std::vector<std::int32_t>& seq_lens :
         {std::vector<std::int32_t>{3, 0, 50}, std::vector<std::int32_t>{499, 1, 77}}) {
        device.device().write_seq_lens(seq_lens);
        device.poison();
        NANOSERVE_CUDA_TRY(cudaDeviceSynchronize());
        replay.launch();
        params.seq_lens = seq_lens.data();
        require_within_shared(device.device().result(), params, num_splits);
    }
    (void)cudaStreamDestroy(stream);
}

TEST_CASE("shared heads refuse what they do not take, before a launch", "[kernels][shared_heads]") {
    needs_gpu();
    PagedCase test(bf16_spec({20}));
    const DeviceCase device(test.params());
    PagedAttentionParams params = device.params();
    params.kv.layout.block_stride += 4;
    CHECK_THROWS_MATCHES(nanoserve::shared_heads_attention(params, nullptr), std::invalid_argument,
                         Message("block_stride is 4104 bytes; multiples of 16 are taken"));
    params = device.params();
    params.num_q_heads = 7;
    CHECK_THROWS_AS(nanoserve::shared_heads_attention(params, nullptr), std::invalid_argument);
    params = device.params();
    params.num_seqs = 0;
    params.q = nullptr;
    CHECK_NOTHROW(nanoserve::shared_heads_attention(params, nullptr));
}

// One token each, in one of four blocks: its weight is exactly 1, so out is its V row.
TEST_CASE("shared heads take more sequences than a grid has rows", "[kernels][shared_heads]") {
    needs_gpu();
    const int num_splits = GENERATE(kDay22, 2);
    constexpr std::size_t kNumSeqs = 65535 + 4;
    constexpr std::size_t kHeadDim = 64;
    constexpr std::size_t kBlockElements = 16 * kHeadDim;
    const auto value_of = [](std::size_t block) {
        return nanoserve::from_float<nanoserve::Bf16>(1.5f + static_cast<float>(block));
    };
    std::vector<nanoserve::Bf16> k(4 * kBlockElements), v(4 * kBlockElements),
        q(kNumSeqs * kHeadDim), out(q.size());
    for (std::size_t i = 0; i < v.size(); ++i) {
        v[i] = value_of(i / kBlockElements);
    }
    std::vector<nanoserve::BlockId> tables(kNumSeqs);
    for (std::size_t seq = 0; seq < kNumSeqs; ++seq) {
        tables[seq] = static_cast<nanoserve::BlockId>(seq * 7 % 4);
    }
    const std::vector<std::int32_t> seq_lens(kNumSeqs, 1);
    PagedAttentionParams params;
    params.q = q.data();
    params.out = out.data();
    params.io_dtype = DType::bf16;
    params.num_q_heads = 1;
    params.kv = {k.data(), v.data(),
                 nanoserve::nhd_layout({.dtype = DType::bf16,
                                        .num_blocks = 4,
                                        .block_size = 16,
                                        .num_kv_heads = 1,
                                        .head_dim = kHeadDim})};
    params.block_tables = tables.data();
    params.seq_lens = seq_lens.data();
    params.num_seqs = kNumSeqs;
    params.max_blocks_per_seq = 1;
    const DeviceResult result = SplitCase(params, num_splits).run();
    std::size_t num_wrong = 0;
    for (std::size_t i = 0; i < out.size(); ++i) {
        nanoserve::Bf16 element;
        std::memcpy(&element, result.out.data() + i * sizeof(element), sizeof(element));
        num_wrong += element.bits != value_of(static_cast<std::size_t>(tables[i / kHeadDim])).bits;
    }
    CHECK(num_wrong == 0);
}
