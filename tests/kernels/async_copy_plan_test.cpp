// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// How Days 24 and 25 cut up their work, and what they refuse: no GPU needed.
#include "support/paged_case.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <kernels/async_copy/plan.hpp>

#include <stdexcept>

using Catch::Matchers::Message;
using nanoserve::AsyncCopyPlan;
using nanoserve::DecodeLoad;
using nanoserve::DType;
using nanoserve::KVLayout;
using nanoserve::PagedAttentionParams;
using nanoserve::plan_async_copy;
using nanoserve::reason_not_to_plan;
using nanoserve::testing::PagedCase;

namespace {

constexpr int kNumSms = 132;

DecodeLoad load(std::int64_t num_seqs, std::int64_t max_tokens, std::int64_t bytes_per_row) {
    return {.num_seqs = num_seqs,
            .num_kv_heads = 8,
            .max_tokens = max_tokens,
            .bytes_per_row = bytes_per_row};
}

KVLayout layout_of(std::int32_t num_kv_heads, std::int32_t head_dim) {
    return nanoserve::nhd_layout({.dtype = DType::bf16,
                                  .num_blocks = 1,
                                  .block_size = 16,
                                  .num_kv_heads = num_kv_heads,
                                  .head_dim = head_dim});
}

}  // namespace

TEST_CASE("one sequence is split until the SMs have work", "[async_copy]") {
    CHECK(plan_async_copy(load(1, 16, 128), kNumSms) == AsyncCopyPlan{1, 1, 1, 1});
    CHECK(plan_async_copy(load(1, 256, 128), kNumSms) == AsyncCopyPlan{2, 4, 1, 2});
    CHECK(plan_async_copy(load(1, 1024, 128), kNumSms) == AsyncCopyPlan{2, 4, 1, 8});
    CHECK(plan_async_copy(load(1, 4096, 128), kNumSms) == AsyncCopyPlan{2, 8, 1, 16});
    CHECK(plan_async_copy(load(1, 65536, 128), kNumSms) == AsyncCopyPlan{4, 8, 1, 16});
    CHECK(plan_async_copy(load(1, 65536, 256), kNumSms) == AsyncCopyPlan{2, 8, 1, 16});
}

TEST_CASE("a batch that fills the SMs reads the heads of a page together", "[async_copy]") {
    CHECK(plan_async_copy(load(8, 4096, 128), kNumSms) == AsyncCopyPlan{4, 8, 1, 2});
    CHECK(plan_async_copy(load(64, 4096, 128), kNumSms) == AsyncCopyPlan{4, 8, 4, 1});
    CHECK(plan_async_copy(load(256, 4096, 256), kNumSms) == AsyncCopyPlan{2, 8, 8, 1});
}

TEST_CASE("every plan is one that the kernels take", "[async_copy]") {
    const std::int32_t num_kv_heads = GENERATE(1, 2, 3, 5, 8, 12, 32);
    const std::int64_t num_seqs = GENERATE(1, 2, 7, 33, 300, 100'000);
    const std::int64_t max_tokens = GENERATE(0, 16, 48, 1008, 5000, 1 << 20);
    const std::int32_t head_dim = GENERATE(64, 128);
    const AsyncCopyPlan plan =
        plan_async_copy({num_seqs, num_kv_heads, max_tokens, head_dim * 2}, kNumSms);
    CAPTURE(num_kv_heads, num_seqs, max_tokens, head_dim);
    CHECK(reason_not_to_plan(plan, layout_of(num_kv_heads, head_dim)).value_or("none") == "none");
}

TEST_CASE("a thread block has 128 KB on its way where histories are long", "[async_copy]") {
    const std::int64_t num_seqs = GENERATE(range(1, 200));
    const std::int64_t bytes_per_row = GENERATE(128, 256);
    const AsyncCopyPlan plan = plan_async_copy(load(num_seqs, 65536, bytes_per_row), kNumSms);
    CHECK(plan.num_warps * plan.num_stages * 32 * bytes_per_row == 128 * 1024);
}

TEST_CASE("every plan of Days 24 and 25 fits into the shared memory of 99 KB", "[async_copy]") {
    constexpr std::int64_t kShared = 99 * 1024;
    DecodeLoad load;
    load.num_kv_heads = GENERATE(1, 3, 8, 32);
    load.num_seqs = GENERATE(1, 2, 7, 33, 300);
    load.max_tokens = GENERATE(0, 16, 48, 1008, 5000, 1 << 20);
    load.group_size = GENERATE(1, 8, 9, 16);
    const std::int32_t head_dim = GENERATE(64, 128);
    load.bytes_per_row = head_dim * 2;
    const AsyncCopyPlan plan = plan_async_copy(load, kNumSms, kShared);
    CAPTURE(load.num_kv_heads, load.num_seqs, load.max_tokens, load.group_size, head_dim);
    CHECK(reason_not_to_plan(plan, layout_of(load.num_kv_heads, head_dim), load.group_size, kShared)
              .value_or("none") == "none");
    CHECK(plan_async_copy(load, kNumSms) == plan_async_copy(load, kNumSms, 1 << 30));
}

TEST_CASE("where shared memory is short, there are fewer stages, then fewer warps",
          "[async_copy]") {
    const auto plan = [](std::int32_t group_size, std::int64_t num_seqs) {
        DecodeLoad load = ::load(num_seqs, 65536, 256);
        load.group_size = group_size;
        return plan_async_copy(load, kNumSms, 99 * 1024);
    };
    CHECK(plan(8, 1) == AsyncCopyPlan{1, 8, 1, 16});
    // 16 query heads leave more in a warp's ring than one stage has room for.
    CHECK(plan(16, 1) == AsyncCopyPlan{3, 4, 1, 16});
    CHECK(plan(16, 256) == AsyncCopyPlan{3, 4, 4, 1});
    CHECK(reason_not_to_plan({1, 8, 1, 1}, layout_of(4, 128), 16, 99 * 1024) ==
          "8 warps with 1 stages each need 131072 bytes of shared memory; a thread block has "
          "101376");
}

TEST_CASE("a plan out of its limits is named", "[async_copy]") {
    const auto reason = [](const AsyncCopyPlan& plan, std::int32_t head_dim = 64) {
        return reason_not_to_plan(plan, layout_of(4, head_dim)).value_or("none");
    };
    CHECK(reason({6, 8, 4, 32}) == "none");
    CHECK(reason({0, 8, 1, 1}) == "num_stages is 0; it must be 1 to 6");
    CHECK(reason({7, 8, 1, 1}) == "num_stages is 7; it must be 1 to 6");
    CHECK(reason({1, 3, 1, 1}) == "num_warps is 3; it must be a power of two up to 8");
    CHECK(reason({1, 16, 1, 1}) == "num_warps is 16; it must be a power of two up to 8");
    CHECK(reason({1, 8, 0, 1}) == "heads_per_block is 0; it must be a power of two up to 8");
    CHECK(reason({1, 8, 1, 64}) == "num_splits is 64; it must be a power of two up to 32");
    CHECK(reason({1, 2, 4, 1}) == "heads_per_block is 4; there are 2 warps");
    CHECK(reason({1, 8, 8, 1}) == "heads_per_block is 8; it must divide 4 KV heads");
    CHECK(reason({3, 8, 1, 1}, 128) == "none");
    CHECK(reason({4, 8, 1, 1}, 128) ==
          "8 warps with 4 stages each need 262144 bytes of shared memory; a thread block has "
          "232448");
}

TEST_CASE("no plan is made for sizes that can't be", "[async_copy]") {
    PagedCase test({.shape = {.num_q_heads = 8, .num_kv_heads = 2, .head_dim = 64},
                    .block_size = 16,
                    .seq_lens = {40},
                    .dtype = DType::bf16,
                    .io_dtype = DType::bf16});
    const auto refused = [&](auto change, const char* message) {
        PagedAttentionParams params = test.params();
        change(params);
        CHECK_THROWS_MATCHES(plan_async_copy(params, kNumSms), std::invalid_argument,
                             Message(message));
    };
    refused([](auto& p) { p.kv.layout.block_size = 0; },
            "block_size is 0; it must be at least 1 token");
    refused([](auto& p) { p.kv.layout.head_dim = 0; }, "head_dim is 0; it must be at least 1");
    refused([](auto& p) { p.num_seqs = -1; }, "num_seqs is -1; it must not be negative");
    PagedAttentionParams unplaced = test.params();  // its memory is asked for later
    unplaced.q = unplaced.out = nullptr;
    CHECK(plan_async_copy(unplaced, kNumSms) == plan_async_copy(test.params(), kNumSms));
}

TEST_CASE("what Days 24 and 25 do not take, they name", "[async_copy]") {
    PagedCase test({.shape = {.num_q_heads = 8, .num_kv_heads = 2, .head_dim = 64},
                    .block_size = 16,
                    .seq_lens = {40},
                    .dtype = DType::bf16,
                    .io_dtype = DType::bf16});
    const PagedAttentionParams good = test.params();
    REQUIRE(!nanoserve::reason_not_to_copy_async(good));
    REQUIRE(!nanoserve::reason_not_to_use_tensor_cores(good));
    const auto reason = [&](auto change) {
        PagedAttentionParams params = good;
        change(params);
        return nanoserve::reason_not_to_copy_async(params).value_or("none");
    };
    using P = PagedAttentionParams;
    CHECK(reason([](P& p) { p.kv.layout.dtype = DType::fp32; }) ==
          "async_copy_attention takes bf16 or fp16, the same for pool, q and out");
    CHECK(reason([](P& p) { p.io_dtype = DType::fp16; }) ==
          "async_copy_attention takes bf16 or fp16, the same for pool, q and out");
    CHECK(reason([](P& p) { p.kv.layout.head_dim = 80; }) ==
          "head_dim is 80; async_copy_attention takes 64 and 128");
    CHECK(reason([](P& p) { p.num_q_heads = 18; }) ==
          "a group has 9 query heads; async_copy_attention takes 8");
    for (const std::int32_t block_size : {1, 8, 24, 48}) {
        CHECK(reason([&](P& p) { p.kv.layout.block_size = block_size; }) ==
              "block_size is " + std::to_string(block_size) +
                  "; async_copy_attention takes powers of two from 16 on");
    }
    CHECK(reason([](P& p) { p.kv.layout.token_stride += 4; }) ==
          "token_stride is 264 bytes; async_copy_attention takes multiples of 16 below 2^28");
    CHECK(reason([](P& p) { p.kv.v_cache = static_cast<const std::byte*>(p.kv.v_cache) + 8; }) ==
          "k_cache and v_cache must be multiples of 16 bytes");
    CHECK(reason([](P& p) { p.q_stride = 513; }) == "q and q_stride must be multiples of 4 bytes");
    CHECK(reason([](P& p) { p.max_blocks_per_seq = (1 << 26) + 1; }) ==
          "max_blocks_per_seq is 67108865; async_copy_attention takes 67108864");

    PagedAttentionParams large = good;
    large.num_q_heads = 32;
    CHECK(!nanoserve::reason_not_to_use_tensor_cores(large));
    large.num_q_heads = 34;
    CHECK(nanoserve::reason_not_to_use_tensor_cores(large) ==
          "a group has 17 query heads; tensor_core_attention takes 16");
}
