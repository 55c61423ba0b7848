// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// One suite over both reads of the CPU: the oracle's numbers, each other's bits, and nothing read
// that is not theirs.
#include "support/paged_case.hpp"

#include <nanoserve/attention/gather_read.hpp>
#include <nanoserve/attention/paged_attention_reference.hpp>
#include <nanoserve/attention/streaming_read.hpp>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <random>
#include <thread>
#include <vector>

using Catch::Matchers::WithinAbs;
using Catch::Matchers::WithinRel;
using nanoserve::DType;
using nanoserve::InstructionSet;
using nanoserve::ReadContext;
using nanoserve::testing::CaseSpec;
using nanoserve::testing::PagedCase;
using nanoserve::testing::PoolOrder;

namespace {

using Read = void (*)(const nanoserve::PagedAttentionParams&, ReadContext&);
constexpr Read kGather = nanoserve::gather_read;
constexpr Read kFused = nanoserve::paged_attention_reference;
constexpr Read kStreaming = [](const nanoserve::PagedAttentionParams& params,
                               ReadContext& context) {
    nanoserve::streaming_read(params, 1, context);
};
constexpr Read kStreamingSplit = [](const nanoserve::PagedAttentionParams& params,
                                    ReadContext& context) {
    nanoserve::streaming_read(params, 3, context);
};

struct Result {
    std::vector<std::byte> out;
    std::vector<float> lse;

    bool operator==(const Result& other) const {
        return out == other.out && lse.size() == other.lse.size() &&
               std::memcmp(lse.data(), other.lse.data(), lse.size() * sizeof(float)) == 0;
    }
};

Result run(Read read, PagedCase& test, ReadContext& context) {
    read(test.params(), context);
    return {test.out(), test.lse()};
}

// Whether the result is the oracle's within `bound`, and its lse within the bound and a rounding of
// its own.
void check_close(PagedCase& test, const Result& result, const nanoserve::OracleResult& oracle,
                 double bound) {
    test.out() = result.out;
    const auto out = test.out_floats();
    for (std::size_t i = 0; i < oracle.out.size(); ++i) {
        CAPTURE(i);
        REQUIRE_THAT(double{out[i]}, WithinAbs(oracle.out[i], bound));
    }
    for (std::size_t i = 0; i < oracle.lse.size(); ++i) {
        CAPTURE(i);
        if (std::isinf(oracle.lse[i])) {
            REQUIRE(result.lse[i] == -INFINITY);
        } else {
            REQUIRE_THAT(double{result.lse[i]},
                         WithinAbs(oracle.lse[i], bound + 0x1p-23 * std::abs(oracle.lse[i])));
        }
    }
}

// Gather and fused, on every instruction set and with one and three threads, have the same bits;
// the first agrees with the oracle within what rounding explains.
void check_two_pass_reads(PagedCase& test, const nanoserve::OracleResult& oracle) {
    std::vector<Result> results;
    for (const InstructionSet set : nanoserve::available_instruction_sets()) {
        for (const int num_threads : {1, 3}) {
            ReadContext context({.num_threads = num_threads, .instruction_set = set});
            results.push_back(run(kGather, test, context));
            results.push_back(run(kFused, test, context));
        }
    }
    for (std::size_t i = 1; i < results.size(); ++i) {
        CAPTURE(i);
        REQUIRE(results[i] == results[0]);
    }
    check_close(test, results[0], oracle, nanoserve::rounding_bound(test.params()));
}

// Streaming agrees with the oracle for every instruction set and number of splits, and its bits do
// not depend on the threads.
void check_streaming(PagedCase& test, const nanoserve::OracleResult& oracle) {
    for (const InstructionSet set : nanoserve::available_instruction_sets()) {
        for (const std::int64_t num_splits : {1, 2, 7}) {
            CAPTURE(nanoserve::to_string(set), num_splits);
            std::vector<Result> results;
            for (const int num_threads : {1, 2, 3}) {
                ReadContext context({.num_threads = num_threads, .instruction_set = set});
                nanoserve::streaming_read(test.params(), num_splits, context);
                results.push_back({test.out(), test.lse()});
            }
            REQUIRE(results[1] == results[0]);
            REQUIRE(results[2] == results[0]);
            check_close(test, results[0], oracle,
                        nanoserve::streaming_rounding_bound(test.params(), num_splits));
        }
    }
}

void check_reads(const CaseSpec& spec) {
    PagedCase test(spec);
    CAPTURE(test.describe());
    const auto oracle = nanoserve::attention_oracle(test.params());
    check_two_pass_reads(test, oracle);
    check_streaming(test, oracle);
}

}  // namespace

TEST_CASE("reads agree with the oracle and with each other at every block size and block edge",
          "[attention]") {
    const std::int32_t block_size = GENERATE(1, 3, 7, 16, 24);
    check_reads(
        {.block_size = block_size,
         .seq_lens = {0, 1, block_size - 1, block_size, block_size + 1, 5 * block_size + 2, 100}});
}

TEST_CASE("reads agree at every head_dim", "[attention]") {
    const std::int32_t head_dim = GENERATE(1, 8, 16, 24, 48, 64, 80, 96, 112, 128, 192, 256);
    const DType dtype = GENERATE(DType::fp32, DType::fp16, DType::bf16, DType::fp8_e4m3);
    check_reads({.shape = {.num_q_heads = 4, .num_kv_heads = 2, .head_dim = head_dim},
                 .block_size = 5,
                 .seq_lens = {13, 40},
                 .dtype = dtype,
                 .scaled = dtype == DType::fp8_e4m3});
}

TEST_CASE("reads agree at every group size", "[attention]") {
    const std::int32_t group_size = GENERATE(range(1, 25));
    check_reads({.shape = {.num_q_heads = 2 * group_size, .num_kv_heads = 2, .head_dim = 16},
                 .seq_lens = {18}});
}

TEST_CASE("reads agree for every storage type, element type of q and out, and order of the pool",
          "[attention]") {
    const DType dtype = GENERATE(DType::fp32, DType::fp16, DType::bf16, DType::fp8_e4m3);
    const bool scaled = dtype == DType::fp8_e4m3 && GENERATE(false, true);
    const DType io_dtype = GENERATE(DType::fp32, DType::fp16, DType::bf16);
    const PoolOrder order = GENERATE(PoolOrder::nhd, PoolOrder::hnd, PoolOrder::interleaved);
    check_reads({.shape = {.num_q_heads = 6, .num_kv_heads = 2, .head_dim = 40},
                 .block_size = 6,
                 .seq_lens = {0, 7, 33},
                 .dtype = dtype,
                 .io_dtype = io_dtype,
                 .order = order,
                 .scaled = scaled});
}

TEST_CASE("reads agree when one token takes nearly all the weight", "[attention]") {
    check_reads({.seq_lens = {300}, .q_scale = 40.0f, .seed = 7});
}

// Weights are summed in stretches of 1024 tokens. Gather scores whole blocks and hides what lies
// behind the last token, so its last stretch may hold more than that of fused.
TEST_CASE("reads agree around the stretches of a long history, wherever its last block ends",
          "[attention]") {
    const std::int32_t seq_len = GENERATE(1023, 1024, 1025, 1030, 1039, 1041, 2047, 2049, 2100);
    const std::int32_t block_size = GENERATE(1, 7, 32);
    check_reads({.shape = {.num_q_heads = 2, .num_kv_heads = 1, .head_dim = 8},
                 .block_size = block_size,
                 .seq_lens = {seq_len}});
}

TEST_CASE("reads agree on random shapes", "[attention]") {
    const auto seed = static_cast<std::uint32_t>(GENERATE(range(1, 41)));
    std::mt19937 random(seed);
    const auto pick = [&](int low, int high) {
        return std::uniform_int_distribution<int>(low, high)(random);
    };
    CaseSpec spec{.shape = {.num_q_heads = 0, .num_kv_heads = pick(1, 5), .head_dim = pick(1, 70)},
                  .block_size = pick(1, 33),
                  .seq_lens = {},
                  .order = static_cast<PoolOrder>(pick(0, 2)),
                  .seed = seed};
    spec.shape.num_q_heads = spec.shape.num_kv_heads * pick(1, 9);
    for (int i = pick(1, 4); i > 0; --i) {
        spec.seq_lens.push_back(pick(0, 150));
    }
    check_reads(spec);
}

TEST_CASE("blocks may be shared between sequences and stand twice in one table", "[attention]") {
    PagedCase test({.block_size = 4, .seq_lens = {12, 8}});
    auto& table = test.tables().block_tables;
    const auto width = static_cast<std::size_t>(test.tables().max_blocks_per_seq);
    table[1] = table[0];      // the first sequence sees its first block twice
    table[width] = table[2];  // and the second starts with the first one's last block
    ReadContext context;
    const Result gathered = run(kGather, test, context);
    CHECK(run(kFused, test, context) == gathered);
    const auto params = test.params();
    const auto oracle = nanoserve::attention_oracle(params);
    test.out() = gathered.out;
    const auto out = test.out_floats();
    for (std::size_t i = 0; i < out.size(); ++i) {
        CHECK_THAT(double{out[i]}, WithinAbs(oracle.out[i], nanoserve::rounding_bound(params)));
    }
}

TEST_CASE("a paged history reads as the same history that was never paged", "[attention]") {
    const std::int32_t block_size = GENERATE(1, 3, 16);
    PagedCase paged({.block_size = block_size, .seq_lens = {37}});
    // The same rows in one block as large as the history: the table is {0}, so nothing is
    // scattered.
    PagedCase whole({.block_size = 37, .seq_lens = {37}});
    ReadContext context;
    for (std::int64_t t = 0; t < 37; ++t) {
        const auto block = paged.tables().block_tables[static_cast<std::size_t>(t / block_size)];
        for (int head = 0; head < 2; ++head) {
            const auto value = static_cast<float>((t * 7 + head * 3) % 11) - 5.0f;
            paged.set_row(true, block, t % block_size, head, value / 4.0f);
            paged.set_row(false, block, t % block_size, head, value);
            whole.set_row(true, whole.tables().block_tables[0], t, head, value / 4.0f);
            whole.set_row(false, whole.tables().block_tables[0], t, head, value);
        }
    }
    const Result expected = run(kGather, whole, context);
    CHECK(run(kGather, paged, context) == expected);
    CHECK(run(kFused, paged, context) == expected);
}

TEST_CASE("NaN in every slot that no sequence owns reaches no output", "[attention]") {
    const Read read = GENERATE(kGather, kFused, kStreaming, kStreamingSplit);
    PagedCase test({.shape = {.num_q_heads = 1, .num_kv_heads = 1, .head_dim = 64},
                    .block_size = 16,
                    .seq_lens = {17}});
    test.set_q(0.0f);
    for (int t = 0; t < 17; ++t) {
        const auto block = test.tables().block_tables[static_cast<std::size_t>(t / 16)];
        test.set_row(true, block, t % 16, 0, 0.0f);
        test.set_row(false, block, t % 16, 0, static_cast<float>(t));
    }
    ReadContext context;
    const Result result = run(read, test, context);
    test.out() = result.out;
    for (const float value : test.out_floats()) {
        CHECK_THAT(value, WithinRel(8.0f, 1e-6f));
    }
    CHECK_THAT(result.lse[0], WithinRel(2.833213f, 1e-6f));
}

TEST_CASE("query head h reads KV head h / group_size", "[attention]") {
    const Read read = GENERATE(kGather, kFused, kStreaming, kStreamingSplit);
    const auto [num_q_heads, num_kv_heads] =
        GENERATE(std::pair{28, 4}, std::pair{48, 2}, std::pair{12, 12}, std::pair{8, 1});
    PagedCase test(
        {.shape = {.num_q_heads = num_q_heads, .num_kv_heads = num_kv_heads, .head_dim = 8},
         .seq_lens = {1}});
    for (int head = 0; head < num_kv_heads; ++head) {
        test.set_row(false, test.tables().block_tables[0], 0, head, static_cast<float>(head));
    }
    ReadContext context;
    test.out() = run(read, test, context).out;
    const auto out = test.out_floats();
    for (int h = 0; h < num_q_heads; ++h) {
        CHECK(out[static_cast<std::size_t>(h * 8)] ==
              static_cast<float>(h / (num_q_heads / num_kv_heads)));
    }
}

TEST_CASE("sm_scale defaults to 1/sqrt(head_dim), and 0 means 0", "[attention]") {
    const Read read = GENERATE(kGather, kFused, kStreaming, kStreamingSplit);
    PagedCase test({.shape = {.num_q_heads = 1, .num_kv_heads = 1, .head_dim = 96},
                    .block_size = 2,
                    .seq_lens = {2}});
    test.set_q(1.0f);
    const auto block = test.tables().block_tables[0];
    test.set_row(true, block, 0, 0, 0.125f);
    test.set_row(true, block, 1, 0, 0.0f);
    test.set_row(false, block, 0, 0, 1.0f);
    test.set_row(false, block, 1, 0, 0.0f);
    ReadContext context;
    auto params = test.params();
    read(params, context);
    CHECK_THAT(test.out_floats()[0], WithinRel(0.772897f, 1e-6f));
    params.sm_scale = 0.0f;
    read(params, context);
    CHECK(test.out_floats()[0] == 0.5f);
}

TEST_CASE("scores far beyond the range of fp16 give the right token and lse", "[attention]") {
    const Read read = GENERATE(kGather, kFused, kStreaming, kStreamingSplit);
    const DType dtype = GENERATE(DType::fp32, DType::fp16, DType::bf16);
    PagedCase test({.shape = {.num_q_heads = 1, .num_kv_heads = 1, .head_dim = 16},
                    .block_size = 2,
                    .seq_lens = {3},
                    .dtype = dtype,
                    .io_dtype = dtype});
    test.set_q(200.0f);
    const float keys[] = {100.0f, 99.0f, -100.0f};
    for (int t = 0; t < 3; ++t) {
        const auto block = test.tables().block_tables[static_cast<std::size_t>(t / 2)];
        test.set_row(true, block, t % 2, 0, keys[t]);
        test.set_row(false, block, t % 2, 0, static_cast<float>(t + 1));
    }
    ReadContext context;
    const Result result = run(read, test, context);
    test.out() = result.out;
    CHECK(test.out_floats()[0] == 1.0f);
    CHECK_THAT(result.lse[0], WithinAbs(80000.0f, 0.02f));
}

TEST_CASE("q may be a part of a packed row, and lse may be left out", "[attention]") {
    PagedCase test({.seq_lens = {9, 4}});
    ReadContext context;
    const Result expected = run(kGather, test, context);
    auto params = test.params();
    const auto* q = static_cast<const float*>(params.q);
    std::vector<float> packed(2 * 200, NAN);
    for (int seq = 0; seq < 2; ++seq) {
        std::copy_n(q + seq * 128, 128, packed.begin() + seq * 200);
    }
    params.q = packed.data();
    params.q_stride = 200;
    params.lse = nullptr;
    for (const Read read : {kGather, kFused}) {
        std::fill(test.out().begin(), test.out().end(), std::byte{0xff});
        read(params, context);
        CHECK(test.out() == expected.out);
    }
}

TEST_CASE("one cache is read from several threads at once", "[attention]") {
    PagedCase test(
        {.shape = {.num_q_heads = 8, .num_kv_heads = 4, .head_dim = 32}, .seq_lens = {65, 30}});
    ReadContext context;
    const Result expected = run(kGather, test, context);
    const auto params = test.params();
    std::vector<std::vector<std::byte>> outs(4, std::vector<std::byte>(test.out().size()));
    {
        std::vector<std::jthread> threads;
        for (std::size_t i = 0; i < outs.size(); ++i) {
            threads.emplace_back([&, i] {
                ReadContext own({.num_threads = 2});
                auto mine = params;
                mine.out = outs[i].data();
                mine.lse = nullptr;
                (i % 2 == 0 ? kGather : kFused)(mine, own);
            });
        }
    }
    for (const auto& out : outs) {
        CHECK(out == expected.out);
    }
}

TEST_CASE("a pool with padded strides is gathered row by row", "[attention]") {
    PagedCase test({.block_size = 3, .seq_lens = {8}});
    ReadContext context;
    const Result expected = run(kGather, test, context);
    auto params = test.params();
    // The same rows with a hole of NaN behind each token.
    const auto& dense = params.kv.layout;
    nanoserve::KVLayout padded = dense;
    padded.token_stride += 5;
    padded.block_stride = padded.token_stride * dense.block_size;
    const auto spread = [&](const void* pool) {
        std::vector<float> rows(static_cast<std::size_t>(padded.block_stride * padded.num_blocks),
                                NAN);
        for (std::int64_t token = 0; token < dense.num_blocks * dense.block_size; ++token) {
            std::copy_n(static_cast<const float*>(pool) + token * dense.token_stride,
                        dense.token_stride, rows.begin() + token * padded.token_stride);
        }
        return rows;
    };
    const auto k = spread(params.kv.k_cache);
    const auto v = spread(params.kv.v_cache);
    params.kv = {.k_cache = k.data(), .v_cache = v.data(), .layout = padded};
    for (const Read read : {kGather, kFused}) {
        std::fill(test.out().begin(), test.out().end(), std::byte{0xff});
        read(params, context);
        CHECK(test.out() == expected.out);
    }
}

TEST_CASE("a long history of equal values loses none of them", "[attention]") {
    // One fp32 chain of 131072 additions of 0.1 would be off by 1e-3; see rounding_bound for what
    // stretches allow.
    constexpr std::int32_t kNumTokens = 131072;
    PagedCase test({.shape = {.num_q_heads = 1, .num_kv_heads = 1, .head_dim = 4},
                    .block_size = 16,
                    .seq_lens = {kNumTokens}});
    test.set_q(0.0f);
    for (int t = 0; t < kNumTokens; ++t) {
        test.set_row(false, test.tables().block_tables[static_cast<std::size_t>(t / 16)], t % 16, 0,
                     0.1f);
    }
    ReadContext context;
    test.out() = run(kFused, test, context).out;
    const double bound = nanoserve::rounding_bound(test.params());
    CHECK(bound < 3e-5);
    test.out() = run(kFused, test, context).out;
    CHECK_THAT(double{test.out_floats()[0]}, WithinAbs(double{0.1f}, bound));
}

TEST_CASE("streaming keeps the values of a long history, in one piece or many", "[attention]") {
    constexpr std::int32_t kNumTokens = 131072;
    PagedCase test({.shape = {.num_q_heads = 1, .num_kv_heads = 1, .head_dim = 4},
                    .block_size = 16,
                    .seq_lens = {kNumTokens}});
    test.set_q(0.0f);
    for (int t = 0; t < kNumTokens; ++t) {
        test.set_row(false, test.tables().block_tables[static_cast<std::size_t>(t / 16)], t % 16, 0,
                     0.1f);
    }
    // The maximum never moves here, so only the chains of chunks count: (36 + 2 n + num_splits) u
    // with n = 8192 chunks.
    const double bound = 0.1 * (36.0 + 2.0 * 8192.0 + 8.0) * 0x1p-24;
    for (const std::int64_t num_splits : {1, 8}) {
        nanoserve::streaming_read(test.params(), num_splits);
        CHECK_THAT(double{test.out_floats()[0]}, WithinAbs(double{0.1f}, bound));
    }
}

// One token has the weight 1, so the output is its V row. 256 KV heads of 256 elements hold every
// 16-bit pattern once.
TEST_CASE("streaming returns the row of a lone token unchanged, every finite 16-bit pattern",
          "[attention]") {
    const InstructionSet set = GENERATE(from_range(nanoserve::available_instruction_sets()));
    const DType dtype = GENERATE(DType::fp16, DType::bf16);
    std::vector<std::uint16_t> patterns(0x10000);
    std::iota(patterns.begin(), patterns.end(), std::uint16_t{0});
    const std::vector<std::uint16_t> keys(patterns.size(), 0);
    const std::vector<float> q(patterns.size(), 1.0f);
    std::vector<float> out(patterns.size());
    const nanoserve::BlockId block = 0;
    const std::int32_t seq_len = 1;
    nanoserve::PoolShape pool;
    pool.num_blocks = pool.block_size = 1;
    pool.num_kv_heads = pool.head_dim = 256;
    pool.dtype = dtype;
    nanoserve::PagedAttentionParams params;
    params.q = q.data();
    params.out = out.data();
    params.num_q_heads = 256;
    params.kv = {keys.data(), patterns.data(), nanoserve::nhd_layout(pool)};
    params.block_tables = &block;
    params.seq_lens = &seq_len;
    params.num_seqs = params.max_blocks_per_seq = 1;
    ReadContext context({.num_threads = 1, .instruction_set = set});
    nanoserve::streaming_read(params, 1, context);

    for (std::size_t i = 0; i < patterns.size(); ++i) {
        const float expected = dtype == DType::fp16
                                   ? nanoserve::to_float(nanoserve::Fp16{patterns[i]})
                                   : nanoserve::to_float(nanoserve::Bf16{patterns[i]});
        if (std::isfinite(expected) && out[i] != expected) {
            CAPTURE(i, expected);
            REQUIRE(out[i] == expected);
        }
    }
}

TEST_CASE("streaming_read refuses an impossible number of splits", "[attention]") {
    PagedCase test({.seq_lens = {3}});
    for (const std::int64_t num_splits : {std::int64_t{0}, std::int64_t{-1}, std::int64_t{65537}}) {
        CHECK_THROWS_AS(nanoserve::streaming_read(test.params(), num_splits),
                        std::invalid_argument);
        CHECK(std::isnan(test.out_floats().front()));
    }
}

// 1 + 2^-8 lies midway between two bf16 numbers, 1 + 2^-11 between two fp16 numbers.
TEST_CASE("the bound holds where an output is rounded by half a step", "[attention]") {
    const DType io_dtype = GENERATE(DType::bf16, DType::fp16);
    PagedCase test({.shape = {.num_q_heads = 1, .num_kv_heads = 1, .head_dim = 16},
                    .seq_lens = {1},
                    .io_dtype = io_dtype});
    test.set_row(false, test.tables().block_tables[0], 0, 0,
                 1.0f + (io_dtype == DType::bf16 ? 0x1p-8f : 0x1p-11f));
    check_two_pass_reads(test, nanoserve::attention_oracle(test.params()));
    check_streaming(test, nanoserve::attention_oracle(test.params()));
}

TEST_CASE("the rounding bound of a small case is a few units in the last place", "[attention]") {
    // One token: ds = (16/16 + 6) u S, and 2 (ds + 6u) + (1 + 1/64 + 1/16 + 1/1024 + 6) u, with S =
    // 2 and max |v| = 3.
    PagedCase test({.shape = {.num_q_heads = 1, .num_kv_heads = 1, .head_dim = 16},
                    .block_size = 1,
                    .seq_lens = {1}});
    test.set_q(0.5f);
    test.set_row(true, test.tables().block_tables[0], 0, 0, -1.0f);
    test.set_row(false, test.tables().block_tables[0], 0, 0, -3.0f);
    constexpr double u = 0x1p-24;
    const double chains = 1.0 + 1.0 / 64 + 1.0 / 16 + 1.0 / 1024 + 6.0;
    CHECK_THAT(nanoserve::rounding_bound(test.params()),
               WithinRel(3.0 * (2.0 * (7.0 * 2.0 + 6.0) + chains) * u, 1e-12));
}
