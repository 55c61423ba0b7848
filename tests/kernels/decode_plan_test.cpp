// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// How paged_decode cuts up its work, and what it refuses: no GPU needed.
#include "support/paged_case.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>
#include <kernels/decode/memory.hpp>
#include <kernels/decode/plan.hpp>

#include <algorithm>
#include <bit>

using nanoserve::DecodeDevice;
using nanoserve::DecodeLoad;
using nanoserve::DecodePlan;
using nanoserve::DType;
using nanoserve::load_of;
using nanoserve::PagedAttentionParams;
using nanoserve::plan_decode;
using nanoserve::testing::PagedCase;

namespace {

constexpr DecodeDevice kH200 = {.num_sms = 132, .has_clusters = true};

// Llama 3 8B in bf16.
DecodeLoad load(std::int64_t num_seqs, std::int64_t max_tokens) {
    return {
        .num_seqs = num_seqs, .num_kv_heads = 8, .max_tokens = max_tokens, .bytes_per_row = 256};
}

// A case that paged_decode takes.
PagedCase decodable() {
    return PagedCase({.shape = {.num_q_heads = 8, .num_kv_heads = 2, .head_dim = 64},
                      .block_size = 16,
                      .seq_lens = {40},
                      .dtype = DType::bf16,
                      .io_dtype = DType::bf16});
}

}  // namespace

TEST_CASE("the plan's edges are those that were measured", "[decode]") {
    const auto plan = [](std::int64_t num_seqs, std::int64_t max_tokens) {
        return plan_decode(load(num_seqs, max_tokens), kH200);
    };
    // One tile or two.
    CHECK(plan(1, 16) == DecodePlan{1, 1, 1, false});
    CHECK(plan(64, 32) == DecodePlan{4, 4, 1, true});
    // No more rows than SMs.
    CHECK(plan(1, 33) == DecodePlan{2, 1, 1, false});
    CHECK(plan(1, 240) == DecodePlan{4, 1, 1, false});
    CHECK(plan(1, 256) == DecodePlan{4, 1, 4, false});
    CHECK(plan(1, 1024) == DecodePlan{4, 1, 8, true});
    CHECK(plan(1, 4096) == DecodePlan{8, 1, 8, true});
    CHECK(plan(2, 4096) == DecodePlan{8, 1, 4, true});
    CHECK(plan(3, 4096) == DecodePlan{8, 1, 4, true});
    CHECK(plan(4, 4096) == DecodePlan{8, 1, 2, true});
    CHECK(plan(4, 256) == DecodePlan{4, 1, 2, true});
    CHECK(plan(8, 256) == DecodePlan{8, 1, 1, true});
    CHECK(plan(8, 1024) == DecodePlan{8, 1, 1, true});
    CHECK(plan(8, 1040) == DecodePlan{8, 1, 2, true});
    CHECK(plan(8, 65536) == DecodePlan{8, 1, 2, true});
    CHECK(plan(9, 4096) == DecodePlan{8, 1, 1, true});
    CHECK(plan(9, 4112) == DecodePlan{4, 1, 8, true});
    CHECK(plan(16, 4096) == DecodePlan{8, 1, 1, true});
    CHECK(plan(16, 4112) == DecodePlan{4, 1, 8, true});
    CHECK(plan(16, 65536) == DecodePlan{4, 1, 8, true});
    // More, for which there is room on the SMs at once.
    CHECK(plan(17, 4096) == DecodePlan{4, 1, 1, true});
    CHECK(plan(17, 48) == DecodePlan{1, 1, 1, true});
    CHECK(plan(17, 64) == DecodePlan{2, 1, 1, true});
    CHECK(plan(30, 64) == DecodePlan{4, 2, 1, true});
    CHECK(plan(33, 4096) == DecodePlan{4, 1, 1, true});
    CHECK(plan(34, 1024) == DecodePlan{4, 2, 1, true});
    CHECK(plan(66, 1024) == DecodePlan{4, 2, 1, true});
    CHECK(plan(67, 256) == DecodePlan{4, 4, 1, true});
    CHECK(plan(118, 256) == DecodePlan{8, 8, 1, true});
    CHECK(plan(67, 272) == DecodePlan{8, 2, 1, true});
    CHECK(plan(256, 1024) == DecodePlan{8, 2, 1, true});
    // More, of more tokens.
    CHECK(plan(33, 4112) == DecodePlan{4, 2, 8, true});
    CHECK(plan(34, 1040) == DecodePlan{4, 2, 4, true});
    CHECK(plan(256, 4080) == DecodePlan{4, 2, 4, true});
    CHECK(plan(256, 4096) == DecodePlan{4, 2, 8, true});
    CHECK(plan(256, 16368) == DecodePlan{4, 2, 8, true});
    CHECK(plan(256, 16384) == DecodePlan{8, 2, 2, true});
}

TEST_CASE("an odd number of KV heads is not read together", "[decode]") {
    const auto plan = [](std::int64_t max_tokens) {
        DecodeLoad load = ::load(300, max_tokens);
        load.num_kv_heads = 5;
        return plan_decode(load, kH200);
    };
    CHECK(plan(16) == DecodePlan{1, 1, 1, true});
    CHECK(plan(256) == DecodePlan{1, 1, 1, true});
    CHECK(plan(1024) == DecodePlan{4, 1, 1, true});
    CHECK(plan(2048) == DecodePlan{2, 1, 4, true});
    CHECK(plan(65536) == DecodePlan{8, 1, 2, true});
}

TEST_CASE("fp8 has all SMs at work from 1024 tokens on, and reads heads that share lines together",
          "[decode]") {
    const std::int64_t bytes_per_row = GENERATE(64, 128);
    const auto fp8 = [&](std::int64_t num_seqs, std::int64_t max_tokens) {
        DecodeLoad load = ::load(num_seqs, max_tokens);
        load.bytes_per_row = bytes_per_row;
        load.is_fp8 = true;
        return plan_decode(load, kH200);
    };
    CHECK(fp8(8, 1008).num_splits == 1);
    CHECK(fp8(8, 1024).num_splits == 2);
    CHECK(fp8(8, 4096) == DecodePlan{8, 1, 2, true});
    CHECK(fp8(1, 65536) == DecodePlan{8, 1, 8, true});
    CHECK(fp8(64, 1024) == DecodePlan{4, 2, 1, true});
    CHECK(fp8(64, 2048) == DecodePlan{4, 2, 4, true});
    CHECK(fp8(64, 16368) == DecodePlan{4, 2, 8, true});
    if (bytes_per_row == 128) {
        CHECK(fp8(8, 65536) == DecodePlan{8, 1, 2, true});
        CHECK(fp8(256, 16384) == DecodePlan{8, 2, 2, true});
    } else {
        CHECK(fp8(8, 4112) == DecodePlan{8, 2, 8, true});
        CHECK(fp8(2, 4112) == DecodePlan{8, 2, 8, true});
        CHECK(fp8(58, 16384) == DecodePlan{8, 2, 8, true});
        CHECK(fp8(59, 16384) == DecodePlan{8, 4, 8, true});
        CHECK(fp8(256, 65536) == DecodePlan{8, 4, 8, true});
    }
}

TEST_CASE("rows that L2 would not keep leave it first", "[decode]") {
    const auto evicts = [](std::int64_t max_tokens, std::int64_t bytes_of_q_and_out) {
        DecodeLoad load = ::load(1, max_tokens);
        load.bytes_of_q_and_out = bytes_of_q_and_out;
        return plan_decode(load, kH200).evict_first;
    };
    constexpr std::int64_t kLeft = 3'000'000 - 2 * 8 * 256 * 512;
    CHECK_FALSE(evicts(512, kLeft - 1));
    CHECK(evicts(512, kLeft));
    CHECK(evicts(1024, 0));
}

TEST_CASE("the load of a read is taken from its parameters", "[decode]") {
    PagedCase test = decodable();  // 8 query heads, 2 KV heads of 64
    PagedAttentionParams params = test.params();
    params.max_blocks_per_seq = 3;
    DecodeLoad load = load_of(params, true);
    CHECK(load.num_seqs == 1);
    CHECK(load.num_kv_heads == 2);
    CHECK(load.max_tokens == 48);
    CHECK(load.bytes_per_row == 128);
    CHECK(load.bytes_of_q_and_out == 2 * 8 * 64 * 2);
    CHECK_FALSE(load.is_fp8);
    CHECK(load.has_workspace);
    params.kv.layout.dtype = DType::fp8_e4m3;
    params.rules.sliding_window = 47;
    load = load_of(params, true);
    CHECK(load.is_fp8);
    CHECK(load.bytes_per_row == 64);
    CHECK(load.max_tokens == 47);
    CHECK_FALSE(load.has_workspace);
    params.rules.sliding_window = 48;
    CHECK(load_of(params, true).max_tokens == 48);
    CHECK(load_of(params, true).has_workspace);
}

TEST_CASE("a launch is balanced for several long histories, if there is a workspace", "[decode]") {
    const auto balanced = [](std::int64_t num_seqs, std::int64_t max_tokens, bool has_workspace) {
        DecodeLoad load = ::load(num_seqs, max_tokens);
        load.has_workspace = has_workspace;
        return plan_decode(load, kH200).balance;
    };
    CHECK(balanced(64, 65536, true));
    CHECK_FALSE(balanced(64, 65536, false));
    CHECK_FALSE(balanced(1, 65536, true));
    CHECK_FALSE(balanced(64, 8192, true));
    CHECK_FALSE(balanced(4097, 65536, true));
}

TEST_CASE("a balanced launch has limits that its counters can count to", "[decode]") {
    const auto can = [](std::int64_t num_seqs, std::int32_t num_kv_heads, std::int64_t max_tokens) {
        return nanoserve::can_balance(
            {.num_seqs = num_seqs, .num_kv_heads = num_kv_heads, .max_tokens = max_tokens});
    };
    CHECK(can(8192, 8, 16384));  // 2^16 rows
    CHECK_FALSE(can(8193, 8, 16384));
    CHECK(can(4095, 8, 65536));  // 2^27 tiles less than one sequence's
    CHECK_FALSE(can(4096, 8, 65536));
    CHECK_FALSE(can(std::int64_t{1} << 40, 8, 0));
}

TEST_CASE("a GPU without clusters splits no history", "[decode]") {
    const auto plan = [](std::int64_t num_seqs, std::int64_t max_tokens) {
        return plan_decode(load(num_seqs, max_tokens), {.num_sms = 108, .has_clusters = false});
    };
    CHECK(plan(1, 65536) == DecodePlan{8, 1, 1, true});
    CHECK(plan(14, 65536) == DecodePlan{8, 1, 1, true});
    CHECK(plan(64, 65536) == DecodePlan{8, 2, 1, true});
}

TEST_CASE("there are clusters where the device has them and the code was compiled for it",
          "[decode]") {
    using nanoserve::can_use_clusters;
    CHECK(can_use_clusters(9, 90));
    CHECK(can_use_clusters(12, 90));
    CHECK(can_use_clusters(12, 120));
    CHECK_FALSE(can_use_clusters(8, 80));
    for (const int compiled_for : {80, 86, 89}) {  // PTX that the driver compiled
        CHECK_FALSE(can_use_clusters(9, compiled_for));
    }
}

TEST_CASE("every plan is one that the kernel takes, and leaves no SM without work", "[decode]") {
    const DecodeDevice device = GENERATE(kH200, DecodeDevice{108, false}, DecodeDevice{20, true});
    DecodeLoad load;
    load.num_kv_heads = GENERATE(1, 2, 3, 5, 8, 12, 32);
    load.num_seqs = GENERATE(1, 2, 7, 18, 33, 300, 100'000);
    load.max_tokens = GENERATE(0, 16, 48, 256, 1008, 2048, 5000, 16384, 1 << 20);
    load.is_fp8 = GENERATE(false, true);
    load.bytes_per_row = load.is_fp8 ? 64 : 128;
    load.has_workspace = GENERATE(false, true);
    const DecodePlan plan = plan_decode(load, device);
    CAPTURE(load.num_kv_heads, load.num_seqs, load.max_tokens, load.is_fp8, load.has_workspace);
    CAPTURE(device.num_sms, plan.num_warps, plan.heads_per_block, plan.num_splits);
    for (const int value : {plan.num_warps, plan.heads_per_block, plan.num_splits}) {
        CHECK((value >= 1 && value <= 8 && std::has_single_bit(static_cast<unsigned>(value))));
    }
    CHECK(plan.heads_per_block <= plan.num_warps);
    CHECK(load.num_kv_heads % plan.heads_per_block == 0);
    CHECK((!plan.balance || (plan.num_splits == 1 && plan.evict_first)));
    CHECK((device.has_clusters || plan.num_splits == 1));
    const std::int64_t rows = load.num_seqs * load.num_kv_heads;
    const std::int64_t thread_blocks = rows / plan.heads_per_block * plan.num_splits;
    CHECK(thread_blocks >= std::min<std::int64_t>(rows, device.num_sms * 9 / 10));
}

TEST_CASE("every plan fits into the shared memory of its device's thread blocks", "[decode]") {
    const std::int64_t max_shared_bytes = GENERATE(99 * 1024, 163 * 1024, 227 * 1024);
    const bool has_clusters = GENERATE(false, true);
    const DecodeDevice device = {84, has_clusters, max_shared_bytes};
    DecodeLoad load;
    load.is_fp8 = GENERATE(false, true);
    const std::int64_t head_dim = GENERATE(64, 96, 128, 192, 256);
    load.bytes_per_row = head_dim * (load.is_fp8 ? 1 : 2);
    load.group_size = GENERATE(1, 8, 9, 16);
    load.num_kv_heads = GENERATE(1, 3, 8, 32);
    load.num_seqs = GENERATE(1, 2, 20, 100, 10'000);
    load.has_workspace = GENERATE(false, true);
    for (const std::int64_t max_tokens : {16, 48, 256, 1024, 2048, 8192, 16384, 1 << 20}) {
        load.max_tokens = max_tokens;
        const DecodePlan plan = plan_decode(load, device);
        CAPTURE(max_shared_bytes, has_clusters, load.is_fp8, head_dim, load.group_size);
        CAPTURE(load.num_kv_heads, load.num_seqs, load.has_workspace, max_tokens);
        CAPTURE(plan.num_warps, plan.heads_per_block, plan.num_splits, plan.balance);
        REQUIRE(nanoserve::divide_memory(plan, load).num_bytes <= max_shared_bytes);
        REQUIRE(plan.heads_per_block <= plan.num_warps);
        REQUIRE(load.num_kv_heads % plan.heads_per_block == 0);
        // 227 KB are enough for all of them.
        DecodeDevice large = device;
        large.max_shared_bytes = 227 * 1024;
        const DecodePlan wanted = plan_decode(load, large);
        large.max_shared_bytes = 1 << 30;
        REQUIRE(wanted == plan_decode(load, large));
    }
}

TEST_CASE("where shared memory is short, a plan has half the warps, and half of several heads",
          "[decode]") {
    const auto plan = [](DecodeLoad load) {
        return plan_decode(load,
                           {.num_sms = 84, .has_clusters = false, .max_shared_bytes = 99 * 1024});
    };
    CHECK(plan(load(1, 65536)) == DecodePlan{4, 1, 1, true});
    CHECK(plan(load(64, 65536)) == DecodePlan{4, 1, 1, true});
    DecodeLoad small = load(1, 256);
    small.bytes_per_row = 128;
    CHECK(plan(small) == DecodePlan{8, 1, 1, false});  // two tiles of 4 KB for each warp
    // Behind a window the rings are as long as the table has room for.
    small.room_tokens = 65536;
    CHECK(plan(small) == DecodePlan{4, 1, 1, false});
    // A balanced launch has 8 warps, 16 KB each, or 12 KB of rows of 64 bytes.
    DecodeLoad balanced = load(8, 65536);
    balanced.has_workspace = true;
    CHECK(plan(balanced) == DecodePlan{4, 1, 1, true});
    balanced.bytes_per_row = 64;
    balanced.is_fp8 = true;
    CHECK(plan(balanced) == DecodePlan{8, 1, 1, true, true});
}

TEST_CASE("a plan's shared memory is its rings, what is pushed, and a barrier", "[decode]") {
    const auto bytes = [](const DecodePlan& plan, const DecodeLoad& load) {
        return nanoserve::divide_memory(plan, load).num_bytes;
    };
    // Rows of 256 bytes: a tile of K and V is 8192 bytes, a warp has two.
    CHECK(bytes({1, 1, 1}, load(1, 16)) == 8192);
    CHECK(bytes({1, 1, 1}, load(1, 17)) == 2 * 8192);
    CHECK(bytes({1, 1, 1}, load(1, 4096)) == 2 * 8192);
    CHECK(bytes({8, 1, 1}, load(1, 4096)) == 8 * 2 * 8192);
    CHECK(bytes({8, 1, 1, true, true}, load(1, 16)) == 8 * 2 * 8192);
    // 8 fragments of 512 + 64 bytes, four of each thread block, from both.
    CHECK(bytes({8, 1, 2}, load(1, 4096)) == 8 * 2 * 8192 + 2 * 4 * 576 + 16);
    // Two tiles of query heads of 256 elements leave more than a stage.
    DecodeLoad wide = load(1, 4096);
    wide.bytes_per_row = 512;
    wide.group_size = 16;
    CHECK(bytes({1, 1, 1}, wide) == 16384);
    CHECK(bytes({2, 1, 1}, wide) == 2 * 2 * (16 * 512 + 64));
    CHECK(bytes({8, 8, 2}, wide) == 279568);
}

TEST_CASE("no plan is made for rows that paged_decode does not take", "[decode]") {
    DecodeLoad load = ::load(1, 4096);
    load.bytes_per_row = GENERATE(0, 63, 513);
    CHECK_THROWS_AS(plan_decode(load, kH200), std::invalid_argument);
}

TEST_CASE("a history is split no further than its clusters find SMs at once", "[decode]") {
    const std::int64_t num_seqs = GENERATE(range(1, 17));
    const DecodePlan plan = plan_decode(load(num_seqs, 4096), kH200);
    const auto room = [](int splits) { return splits <= 2 ? 132 : 118; };  // 9 of 10 SMs
    const std::int64_t thread_blocks = num_seqs * 8 * plan.num_splits;
    CAPTURE(num_seqs, plan.num_splits);
    CHECK(plan.heads_per_block == 1);
    CHECK((plan.num_splits == 1 || thread_blocks <= room(plan.num_splits)));
    CHECK((plan.num_splits == 8 || 2 * thread_blocks > room(2 * plan.num_splits)));
}

TEST_CASE("what paged_decode does not take, it names", "[decode]") {
    PagedCase test = decodable();
    const PagedAttentionParams good = test.params();
    REQUIRE(!nanoserve::reason_not_to_decode(good));
    const auto reason = [&](auto change) {
        PagedAttentionParams params = good;
        change(params);
        return nanoserve::reason_not_to_decode(params).value_or("none");
    };
    using P = PagedAttentionParams;
    const auto* const kTypes =
        "paged_decode takes bf16 or fp16 for q and out, and the same or fp8_e4m3 for the pool";
    for (const std::int32_t head_dim : {64, 96, 128, 192, 256}) {
        CHECK(reason([&](P& p) { p.kv.layout.head_dim = head_dim; }) == "none");
    }
    for (const std::int32_t block_size : {1, 2, 4, 8, 16, 256}) {
        CHECK(reason([&](P& p) { p.kv.layout.block_size = block_size; }) == "none");
    }
    CHECK(reason([](P& p) { p.kv.layout.dtype = DType::fp32; }) == kTypes);
    CHECK(reason([](P& p) { p.io_dtype = DType::fp16; }) == kTypes);
    CHECK(reason([](P& p) { p.kv.layout.head_dim = 80; }) ==
          "head_dim is 80; paged_decode takes 64, 96, 128, 192 and 256");
    for (const std::int32_t head_dim : {64, 128, 256}) {
        CHECK(reason([&](P& p) {
                  p.kv.layout.dtype = DType::fp8_e4m3;
                  p.kv.layout.head_dim = head_dim;
              }) == "none");
    }
    CHECK(reason([](P& p) {
              p.kv.layout.dtype = DType::fp8_e4m3;
              p.kv.layout.head_dim = 96;
          }) == "head_dim is 96; paged_decode takes 64, 128 and 256 of fp8_e4m3");
    CHECK(reason([](P& p) {
              p.kv.layout.dtype = DType::fp8_e4m3;
              p.io_dtype = DType::fp32;
          }) == kTypes);
    CHECK(reason([](P& p) {
              p.kv.layout.dtype = DType::fp8_e4m3;
              p.q = static_cast<const std::byte*>(p.q) + 4;
          }) == "q and q_stride must be multiples of 8 bytes");
    CHECK(reason([](P& p) {
              p.kv.layout.dtype = DType::fp8_e4m3;
              p.q_stride = 514;
          }) == "q and q_stride must be multiples of 8 bytes");
    CHECK(reason([](P& p) { p.num_q_heads = 34; }) ==
          "a group has 17 query heads; paged_decode takes 16");
    for (const std::int32_t block_size : {3, 24, 48}) {
        CHECK(reason([&](P& p) { p.kv.layout.block_size = block_size; }) ==
              "block_size is " + std::to_string(block_size) + "; paged_decode takes powers of two");
    }
    CHECK(reason([](P& p) { p.kv.layout.token_stride += 4; }) ==
          "token_stride is 264 bytes; paged_decode takes multiples of 16 below 2^28");
    CHECK(reason([](P& p) { p.kv.layout.block_stride = std::int64_t{1} << 28; }) ==
          "block_stride is 536870912 bytes; paged_decode takes multiples of 16 below 2^28");
    CHECK(reason([](P& p) { p.kv.v_cache = static_cast<const std::byte*>(p.kv.v_cache) + 8; }) ==
          "k_cache and v_cache must be multiples of 16 bytes");
    CHECK(reason([](P& p) { p.q = static_cast<const std::byte*>(p.q) + 2; }) ==
          "q and q_stride must be multiples of 4 bytes");
    CHECK(reason([](P& p) { p.q_stride = 513; }) == "q and q_stride must be multiples of 4 bytes");
    CHECK(reason([](P& p) { p.out = static_cast<std::byte*>(p.out) + 2; }) ==
          "out must be a multiple of 4 bytes");
    CHECK(reason([](P& p) { p.max_blocks_per_seq = (1 << 26) + 1; }) ==
          "max_blocks_per_seq is 67108865; paged_decode takes 67108864");
}
