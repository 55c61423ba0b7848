// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// The steps of general_attention on the CPU: the oracle's numbers, each byte of K and V once per
// query head, and nothing read that is not the sequence's own.
#include "kernels/kernel_checks.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>
#include <kernels/general/config.hpp>
#include <kernels/general/counting_memory.hpp>
#include <kernels/general/online_softmax.hpp>
#include <kernels/general/twin.hpp>

#include <cstring>
#include <random>

using Catch::Matchers::Message;
using Catch::Matchers::WithinRel;
using nanoserve::AccessReport;
using nanoserve::BlockTables;
using nanoserve::DType;
using nanoserve::PagedAttentionParams;
using nanoserve::ThreadOrder;
using nanoserve::testing::CaseSpec;
using nanoserve::testing::PagedCase;
using nanoserve::testing::PoolOrder;
using nanoserve::testing::require_close;
using nanoserve::testing::require_each_byte_once;
using nanoserve::testing::without_absent_blocks;

namespace {

void check_twin(const CaseSpec& spec) {
    PagedCase test(spec);
    CAPTURE(test.describe());
    const PagedAttentionParams params = test.params();
    const AccessReport report = nanoserve::paged_attention_twin(params);
    REQUIRE(report.status == 0);
    require_close(params.out, params.lse, params);
    require_each_byte_once(report, params);
}

}  // namespace

TEST_CASE("the twin agrees with the oracle at every block size and block edge", "[kernels]") {
    const std::int32_t block_size = GENERATE(1, 3, 7, 16, 24, 32, 33, 256);
    check_twin(
        {.block_size = block_size,
         .seq_lens = {0, 1, block_size - 1, block_size, block_size + 1, 5 * block_size + 2, 100}});
}

TEST_CASE("the twin agrees with the oracle at every head_dim", "[kernels]") {
    const std::int32_t head_dim = GENERATE(range(8, 257, 8));
    check_twin({.shape = {.num_q_heads = 4, .num_kv_heads = 2, .head_dim = head_dim},
                .block_size = 5,
                .seq_lens = {13, 40}});
}

TEST_CASE("the twin agrees with the oracle at every group size", "[kernels]") {
    const std::int32_t group_size = GENERATE(range(1, 25));
    check_twin({.shape = {.num_q_heads = 2 * group_size, .num_kv_heads = 2, .head_dim = 16},
                .seq_lens = {18}});
}

TEST_CASE(
    "the twin agrees for every storage type, element type of q and out, and order of the pool",
    "[kernels]") {
    const DType dtype = GENERATE(DType::fp32, DType::fp16, DType::bf16, DType::fp8_e4m3);
    const bool scaled = dtype == DType::fp8_e4m3 && GENERATE(false, true);
    const DType io_dtype = GENERATE(DType::fp32, DType::fp16, DType::bf16);
    const PoolOrder order = GENERATE(PoolOrder::nhd, PoolOrder::hnd, PoolOrder::interleaved);
    check_twin({.shape = {.num_q_heads = 6, .num_kv_heads = 2, .head_dim = 40},
                .block_size = 6,
                .seq_lens = {0, 7, 33},
                .dtype = dtype,
                .io_dtype = io_dtype,
                .order = order,
                .scaled = scaled});
}

TEST_CASE("the twin agrees under every set of rules, and reads visible tokens alone", "[kernels]") {
    const unsigned kinds = GENERATE(range(1u, 16u));
    check_twin({.shape = {.num_q_heads = 6, .num_kv_heads = 2, .head_dim = 40},
                .block_size = GENERATE(1, 4, 48),
                .seq_lens = {0, 1, 10, 11, 12, 150},
                .q_scale = 3.0f,
                .sliding_window = (kinds & 1) != 0 ? 11 : 0,
                .logits_soft_cap = (kinds & 2) != 0 ? 2.5f : 0.0f,
                .alibi = (kinds & 4) != 0,
                .sinks = (kinds & 8) != 0});
}

TEST_CASE("the twin agrees when one token takes nearly all the weight", "[kernels]") {
    check_twin({.seq_lens = {300}, .q_scale = 40.0f, .seed = 7});
}

TEST_CASE("the twin agrees on random shapes", "[kernels]") {
    const auto seed = static_cast<std::uint32_t>(GENERATE(range(1, 31)));
    std::mt19937 random(seed);
    const auto pick = [&](int low, int high) {
        return std::uniform_int_distribution<int>(low, high)(random);
    };
    CaseSpec spec{
        .shape = {.num_q_heads = 0, .num_kv_heads = pick(1, 5), .head_dim = 8 * pick(1, 18)},
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
    check_twin(spec);
}

TEST_CASE("scores that grow from step to step move every sum to the new maximum", "[kernels]") {
    // Token t scores 3 t, so each step of one token raises the maximum, to 357 in the end.
    PagedCase test({.shape = {.num_q_heads = 1, .num_kv_heads = 1, .head_dim = 8},
                    .block_size = 1,
                    .seq_lens = {120}});
    test.set_q(1.0f);
    for (int t = 0; t < 120; ++t) {
        const auto block = test.tables().block_tables[static_cast<std::size_t>(t)];
        test.set_row(true, block, 0, 0, 3.0f * static_cast<float>(t) / 8.0f);
    }
    PagedAttentionParams params = test.params();
    params.sm_scale = 1.0f;
    nanoserve::paged_attention_twin(params);
    require_close(params.out, params.lse, params);
}

TEST_CASE("blocks that stand twice in a table are read twice", "[kernels]") {
    PagedCase test({.block_size = 4, .seq_lens = {12, 8}});
    auto& table = test.tables().block_tables;
    const auto width = static_cast<std::size_t>(test.tables().max_blocks_per_seq);
    table[1] = table[0];      // the first sequence sees its first block twice
    table[width] = table[2];  // and the second starts with the first one's last block
    const PagedAttentionParams params = test.params();
    const AccessReport report = nanoserve::paged_attention_twin(params);
    require_close(params.out, params.lse, params);
    require_each_byte_once(report, params);
}

TEST_CASE("threads may run in any order between two barriers", "[kernels]") {
    const std::int32_t head_dim = GENERATE(24, 128, 200);
    PagedCase test({.shape = {.num_q_heads = 4, .num_kv_heads = 2, .head_dim = head_dim},
                    .block_size = 40,
                    .seq_lens = {0, 77}});
    nanoserve::paged_attention_twin(test.params(), ThreadOrder::ascending);
    const auto out = test.out();
    const auto lse = test.lse();
    nanoserve::paged_attention_twin(test.params(), ThreadOrder::descending);
    CHECK(test.out() == out);
    CHECK(std::memcmp(test.lse().data(), lse.data(), lse.size() * sizeof(float)) == 0);
}

TEST_CASE("a used id outside the pool is an absent block, and the status says so", "[kernels]") {
    const std::int32_t bad =
        GENERATE(-1, 1 << 30, std::numeric_limits<std::int32_t>::min(), -2 /* num_blocks */);
    const std::size_t place = GENERATE(0, 1, 3);
    PagedCase test({.block_size = 4, .seq_lens = {14, 5}});
    const nanoserve::KVLayout layout = test.params().kv.layout;
    test.tables().block_tables[place] = bad == -2 ? layout.num_blocks : bad;
    CAPTURE(test.tables().block_tables[place], place);
    const BlockTables rest = without_absent_blocks(test.tables(), layout);
    const AccessReport report = nanoserve::paged_attention_twin(test.params());
    CHECK(report.status == nanoserve::kAbsentBlock);
    const auto out = test.out();
    const auto lse = test.lse();
    PagedAttentionParams params = test.params();
    set_block_tables(params, rest);
    require_close(out.data(), lse.data(), params);
    require_each_byte_once(report, params);
    CHECK(nanoserve::paged_attention_twin(params).status == 0);
    CHECK(test.out() == out);
}

TEST_CASE("a sequence whose blocks are all absent is empty", "[kernels]") {
    PagedCase test({.block_size = 4, .seq_lens = {6}});
    test.tables().block_tables = {-1, -1, -1};
    CHECK(nanoserve::paged_attention_twin(test.params()).status == nanoserve::kAbsentBlock);
    for (const float value : test.out_floats()) {
        CHECK(value == 0.0f);
    }
    CHECK(test.lse()[0] == -INFINITY);
}

TEST_CASE("an impossible length is clamped to what the table holds, and the status says so",
          "[kernels]") {
    PagedCase test({.block_size = 4, .seq_lens = {8, 7}});
    test.tables().max_blocks_per_seq = 2;
    std::erase(test.tables().block_tables, 1 << 30);  // the padding
    const auto [seq_len, clamped] =
        GENERATE(std::pair{9, 8}, std::pair{std::numeric_limits<std::int32_t>::max(), 8},
                 std::pair{-1, 0}, std::pair{std::numeric_limits<std::int32_t>::min(), 0});
    test.tables().seq_lens[0] = seq_len;
    CAPTURE(seq_len);
    PagedAttentionParams params = test.params();
    const AccessReport report = nanoserve::paged_attention_twin(params);
    CHECK(report.status == nanoserve::kClampedLength);
    test.tables().seq_lens[0] = clamped;
    require_close(params.out, params.lse, params);
    require_each_byte_once(report, params);
}

TEST_CASE("q may be a part of a packed row, and lse may be left out", "[kernels]") {
    PagedCase test({.seq_lens = {9, 4}});
    nanoserve::paged_attention_twin(test.params());
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
    nanoserve::paged_attention_twin(params);
    CHECK(test.out() == expected);
}

TEST_CASE("the twin takes sm_scale as given, 0 included", "[kernels]") {
    PagedCase test({.shape = {.num_q_heads = 1, .num_kv_heads = 1, .head_dim = 96},
                    .block_size = 2,
                    .seq_lens = {2}});
    test.set_q(1.0f);
    const auto block = test.tables().block_tables[0];
    test.set_row(true, block, 0, 0, 0.125f);
    test.set_row(true, block, 1, 0, 0.0f);
    test.set_row(false, block, 0, 0, 1.0f);
    test.set_row(false, block, 1, 0, 0.0f);
    PagedAttentionParams params = test.params();
    nanoserve::paged_attention_twin(params);
    CHECK_THAT(test.out_floats()[0], WithinRel(0.772897f, 1e-6f));
    params.sm_scale = 0.0f;
    nanoserve::paged_attention_twin(params);
    CHECK(test.out_floats()[0] == 0.5f);
}

TEST_CASE("an empty batch is read without its pointers", "[kernels]") {
    PagedCase test({.seq_lens = {3}});
    PagedAttentionParams params = test.params();
    params.num_seqs = 0;
    params.q = nullptr;
    params.seq_lens = nullptr;
    CHECK(nanoserve::paged_attention_twin(params).heads.empty());
}

TEST_CASE("sizes that the kernel does not take are refused by name", "[kernels]") {
    const auto refused = [](std::int32_t head_dim, const char* message) {
        PagedCase test({.shape = {.num_q_heads = 1, .num_kv_heads = 1, .head_dim = head_dim},
                        .seq_lens = {1}});
        CHECK_THROWS_MATCHES(nanoserve::paged_attention_twin(test.params()), std::invalid_argument,
                             Message(message));
        CHECK(std::isnan(test.out_floats()[0]));
    };
    refused(12, "head_dim is 12; general_attention takes multiples of 8 up to 256");
    refused(264, "head_dim is 264; general_attention takes multiples of 8 up to 256");
    PagedCase test({.seq_lens = {1}});
    PagedAttentionParams params = test.params();
    params.num_seqs = std::int64_t{1} << 28;
    CHECK_THROWS_MATCHES(
        nanoserve::make_paged_attention_args(params, nullptr), std::invalid_argument,
        Message("num_seqs is 268435456; with 8 query heads a grid holds 268435455"));
    params.num_seqs = 1;
    params.kv.k_cache = nullptr;
    CHECK_THROWS_MATCHES(nanoserve::paged_attention_twin(params), std::invalid_argument,
                         Message("k_cache is null"));
}

TEST_CASE("the counting memory refuses what is not the sequence's own", "[kernels]") {
    PagedCase test({.block_size = 4, .seq_lens = {6, 4}});
    const PagedAttentionParams params = test.params();
    nanoserve::HeadAccess access;
    std::uint32_t status = 0;
    nanoserve::CountingMemory<float> memory(params, 0, 1, access, status);
    const auto first = memory.block_id(0);
    const auto second = memory.block_id(1);
    const auto theirs = params.block_tables[params.max_blocks_per_seq];
    CHECK(memory.key_row(second, 1)[15] == params.kv.k_row<float>(second, 1, 1)[15]);
    CHECK(memory.value_row(first, 3)[0] == params.kv.v_row<float>(first, 3, 1)[0]);
    CHECK(access.k_bytes == 4);
    CHECK(access.v_bytes == 4);
    CHECK_THROWS_AS(memory.key_row(second, 2), std::logic_error);   // past seq_len
    CHECK_THROWS_AS(memory.value_row(first, 4), std::logic_error);  // past the block
    CHECK_THROWS_AS(memory.key_row(first, -1), std::logic_error);
    CHECK_THROWS_AS(memory.key_row(theirs, 0), std::logic_error);  // another sequence's block
    CHECK_THROWS_AS(memory.key_row(first, 0)[16], std::logic_error);
    CHECK_THROWS_MATCHES(memory.block_id(2), std::logic_error,
                         Message("read of table entry 2; sequence 0 uses 2"));
}

TEST_CASE("the online softmax weighs nothing before its first finite score", "[kernels]") {
    nanoserve::OnlineSoftmax softmax;
    const float nothing[] = {-INFINITY, -INFINITY};
    CHECK(softmax.raise_max(nothing, 2) == 0.0f);
    CHECK(softmax.weight(-INFINITY) == 0.0f);
    CHECK(softmax.lse(0.0f) == -INFINITY);
    const float scores[] = {2.0f, -INFINITY};
    CHECK(softmax.raise_max(scores, 2) == 0.0f);
    CHECK(softmax.weight(2.0f) == 1.0f);
    CHECK(softmax.weight(-INFINITY) == 0.0f);
    const float higher[] = {3.0f};
    CHECK_THAT(softmax.raise_max(higher, 1), WithinRel(std::exp(-1.0f), 1e-6f));
    CHECK(softmax.raise_max(scores, 2) == 1.0f);
    CHECK(softmax.lse(1.0f) == 3.0f);
}

TEST_CASE("the picture shows what each query head and each group read", "[kernels]") {
    PagedCase test({.shape = {.num_q_heads = 2, .num_kv_heads = 1, .head_dim = 8},
                    .block_size = 4,
                    .seq_lens = {6}});
    test.tables().block_tables = {3, 1, -1};
    for (int t = 0; t < 6; ++t) {
        test.set_row(true, t < 4 ? 3 : 1, t % 4, 0, 1.0f);
        test.set_row(false, t < 4 ? 3 : 1, t % 4, 0, 1.0f);
    }
    CHECK(access_picture(nanoserve::paged_attention_twin(test.params())) ==
          "sequence 0        0    1    2    3    4\n"
          "query head 0    K .... 11.. .... 1111 ....\n"
          "                V .... 11.. .... 1111 ....\n"
          "query head 1    K .... 11.. .... 1111 ....\n"
          "                V .... 11.. .... 1111 ....\n"
          "KV head 0       K .... 22.. .... 2222 ....\n"
          "                V .... 22.. .... 2222 ....\n");
}

TEST_CASE("the rounding bounds hold where an output is rounded by half a step", "[kernels]") {
    PagedCase test({.shape = {.num_q_heads = 1, .num_kv_heads = 1, .head_dim = 16},
                    .seq_lens = {1},
                    .io_dtype = DType::bf16});
    // Midway between two bf16 numbers.
    test.set_row(false, test.tables().block_tables[0], 0, 0, 1.0f + 0x1p-8f);
    const PagedAttentionParams params = test.params();
    (void)nanoserve::paged_attention_twin(params);
    require_close(params.out, params.lse, params);
}

TEST_CASE("the rounding bounds of one token are a few units in the last place", "[kernels]") {
    // n = T = 1, R = 0: ds = (1 + 36) u S with S = 2, e = ds + 17 u, and max |v| = 3.
    PagedCase test({.shape = {.num_q_heads = 1, .num_kv_heads = 1, .head_dim = 16},
                    .block_size = 1,
                    .seq_lens = {1}});
    test.set_q(0.5f);
    test.set_row(true, test.tables().block_tables[0], 0, 0, -1.0f);
    test.set_row(false, test.tables().block_tables[0], 0, 0, -3.0f);
    constexpr double u = 0x1p-24;
    const auto bounds = nanoserve::paged_attention_rounding_bounds(test.params());
    CHECK_THAT(bounds.out, WithinRel(3.0 * (2.0 * (37.0 * 2.0 + 17.0) + 2.0) * u, 1e-4));
    CHECK_THAT(bounds.lse, WithinRel((37.0 * 2.0 + 17.0 + 2.0) * u, 1e-4));
}
