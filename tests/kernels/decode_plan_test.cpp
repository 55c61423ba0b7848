// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// How paged_decode cuts up its work, and what it refuses: no GPU needed.
#include "support/paged_case.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>
#include <kernels/decode/plan.hpp>

#include <bit>

using nanoserve::DecodeDevice;
using nanoserve::DecodeLoad;
using nanoserve::DecodePlan;
using nanoserve::DType;
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
    CHECK(plan_decode(load(1, 16), kH200) == DecodePlan{1, 1, 1, false});
    CHECK(plan_decode(load(1, 256), kH200) == DecodePlan{4, 1, 4, false});
    CHECK(plan_decode(load(1, 1024), kH200) == DecodePlan{4, 1, 8, true});
    CHECK(plan_decode(load(1, 4096), kH200) == DecodePlan{8, 1, 8, true});
    CHECK(plan_decode(load(8, 256), kH200) == DecodePlan{8, 1, 1, true});
    CHECK(plan_decode(load(8, 1024), kH200) == DecodePlan{8, 1, 1, true});
    CHECK(plan_decode(load(8, 4096), kH200) == DecodePlan{8, 1, 2, true});
    CHECK(plan_decode(load(58, 256), kH200) == DecodePlan{8, 4, 1, true});
    CHECK(plan_decode(load(59, 256), kH200) == DecodePlan{4, 2, 1, true});
    CHECK(plan_decode(load(64, 1024), kH200) == DecodePlan{4, 2, 1, true});
    CHECK(plan_decode(load(64, 1040), kH200) == DecodePlan{8, 1, 1, true});
    CHECK(plan_decode(load(118, 256), kH200) == DecodePlan{8, 4, 1, true});
    CHECK(plan_decode(load(256, 256), kH200) == DecodePlan{8, 8, 1, true});
    CHECK(plan_decode(load(256, 1024), kH200) == DecodePlan{8, 8, 1, true});
    CHECK(plan_decode(load(256, 1040), kH200) == DecodePlan{8, 2, 1, true});
    CHECK(plan_decode(load(64, 4096), kH200) == DecodePlan{8, 1, 1, true});
    CHECK(plan_decode(load(64, 16384), kH200) == DecodePlan{8, 4, 1, true});
    CHECK(plan_decode(load(256, 4096), kH200) == DecodePlan{8, 2, 1, true});
}

TEST_CASE("rows shorter than 256 bytes are read together, and split less", "[decode]") {
    const auto narrow = [](std::int64_t num_seqs, std::int64_t max_tokens) {
        DecodeLoad load = ::load(num_seqs, max_tokens);
        load.bytes_per_row = 128;
        return plan_decode(load, kH200);
    };
    CHECK(narrow(64, 1024) == DecodePlan{4, 2, 1, true});
    CHECK(narrow(64, 1040) == DecodePlan{4, 2, 4, true});
    CHECK(narrow(64, 4080) == DecodePlan{4, 2, 4, true});
    CHECK(narrow(64, 4096) == DecodePlan{4, 2, 8, true});
    CHECK(narrow(64, 16368) == DecodePlan{4, 2, 8, true});
    CHECK(narrow(64, 16384) == DecodePlan{8, 4, 1, true});
    CHECK(narrow(8, 1024) == DecodePlan{8, 1, 1, true});
    CHECK(narrow(8, 4096) == DecodePlan{8, 1, 1, true});
    CHECK(narrow(64, 16) == DecodePlan{8, 8, 1, false});
    CHECK(narrow(8, 16) == DecodePlan{1, 1, 1, false});
    CHECK(plan_decode(load(64, 16), kH200) == DecodePlan{1, 1, 1, true});
}

TEST_CASE("fp8 keeps all SMs at work, with fewer heads together", "[decode]") {
    const std::int64_t bytes_per_row = GENERATE(64, 128);
    const auto fp8 = [&](std::int64_t num_seqs, std::int64_t max_tokens) {
        return plan_decode({.num_seqs = num_seqs,
                            .num_kv_heads = 8,
                            .max_tokens = max_tokens,
                            .bytes_per_row = bytes_per_row,
                            .is_fp8 = true},
                           kH200);
    };
    CHECK(fp8(8, 1024).num_splits == 2);
    CHECK(fp8(8, 4096) == DecodePlan{8, 1, 2, true});
    CHECK(fp8(1, 65536) == DecodePlan{8, 1, 8, true});
    CHECK(fp8(64, 16).heads_per_block == 4);
    CHECK(fp8(32, 256).heads_per_block == 2);
    CHECK(fp8(64, 256) == DecodePlan{4, 2, 1, true});
    CHECK(fp8(64, 1024) == DecodePlan{4, 2, 1, true});
    CHECK(fp8(64, 2048) == DecodePlan{4, 2, 4, true});
    if (bytes_per_row == 128) {
        CHECK(fp8(64, 4096) == DecodePlan{4, 2, 8, true});
        CHECK(fp8(256, 65536) == DecodePlan{8, 4, 1, true});
        CHECK(fp8(8, 65536) == DecodePlan{8, 1, 2, true});
    } else {  // heads that share lines
        CHECK(fp8(64, 4096) == DecodePlan{8, 4, 8, true});
        CHECK(fp8(256, 65536) == DecodePlan{8, 4, 8, true});
        CHECK(fp8(58, 16368) == DecodePlan{4, 2, 8, true});
        CHECK(fp8(8, 16368) == DecodePlan{8, 1, 2, true});
        CHECK(fp8(8, 16384) == DecodePlan{8, 2, 8, true});
        CHECK(fp8(4, 65536) == DecodePlan{8, 2, 8, true});
    }
    CHECK(fp8(3, 65536) == DecodePlan{8, 1, 8, true});
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

TEST_CASE("a GPU without clusters splits no history", "[decode]") {
    const DecodePlan plan = plan_decode(load(1, 65536), {.num_sms = 108, .has_clusters = false});
    CHECK(plan == DecodePlan{8, 1, 1, true});
}

TEST_CASE("every plan is one that the kernel takes", "[decode]") {
    const std::int32_t num_kv_heads = GENERATE(1, 2, 3, 5, 8, 12, 32);
    const std::int64_t num_seqs = GENERATE(1, 2, 7, 33, 300, 100'000);
    const std::int64_t max_tokens = GENERATE(0, 16, 48, 1008, 5000, 1 << 20);
    const DecodePlan plan = plan_decode({num_seqs, num_kv_heads, max_tokens, 128}, kH200);
    CAPTURE(num_kv_heads, num_seqs, max_tokens);
    for (const int value : {plan.num_warps, plan.heads_per_block, plan.num_splits}) {
        CAPTURE(value);
        CHECK((value >= 1 && value <= 8 && std::has_single_bit(static_cast<unsigned>(value))));
    }
    CHECK(plan.heads_per_block <= plan.num_warps);
    CHECK(num_kv_heads % plan.heads_per_block == 0);
}

TEST_CASE("no SM waits while a KV head of its own could be had", "[decode]") {
    const std::int64_t num_seqs = GENERATE(range(1, 70));
    const DecodePlan plan = plan_decode(load(num_seqs, 16384), kH200);
    const std::int64_t thread_blocks = num_seqs * 8 / plan.heads_per_block * plan.num_splits;
    CAPTURE(num_seqs, plan.heads_per_block, plan.num_splits);
    CHECK((thread_blocks >= 118 || plan.num_splits == 8));  // 9 of 10 SMs
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
