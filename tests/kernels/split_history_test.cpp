// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// How a history is cut up, into how many parts, and what the kernels with shared heads refuse: no
// GPU needed.
#include "support/paged_case.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <kernels/shared_heads/config.hpp>
#include <kernels/shared_heads/lane_map.hpp>
#include <kernels/split_kv/partials.hpp>
#include <kernels/split_kv/split_history.hpp>

#include <algorithm>
#include <set>

using Catch::Matchers::Message;
using nanoserve::choose_num_splits;
using nanoserve::DType;
using nanoserve::LaneMap;
using nanoserve::PagedAttentionParams;
using nanoserve::split_range;
using nanoserve::TokenRange;
using nanoserve::testing::PagedCase;

namespace {

constexpr std::int32_t kH200 = 132;  // streaming multiprocessors

// Llama 3 8B: 8 thread blocks for each sequence.
std::int32_t splits(std::int64_t num_seqs, std::int64_t max_tokens) {
    return choose_num_splits({.thread_blocks = 8 * num_seqs, .max_tokens = max_tokens}, kH200);
}

PagedCase shareable() {
    return PagedCase({.shape = {.num_q_heads = 8, .num_kv_heads = 2, .head_dim = 64},
                      .block_size = 16,
                      .seq_lens = {40},
                      .dtype = DType::bf16,
                      .io_dtype = DType::bf16});
}

}  // namespace

TEST_CASE("the splits have each token once, in order, and begin at whole units", "[split]") {
    const std::int32_t seq_len = GENERATE(0, 1, 15, 16, 17, 100, 1023, 4096, (1 << 30) - 1);
    const std::int32_t num_splits = GENERATE(1, 2, 3, 7, 33, 1024);
    CAPTURE(seq_len, num_splits);
    std::int32_t next = 0;
    for (std::int32_t i = 0; i < num_splits; ++i) {
        const TokenRange range = split_range(seq_len, num_splits, i);
        REQUIRE(range.begin <= range.end);
        if (range.begin < range.end) {
            REQUIRE(range.begin == next);
            REQUIRE(range.begin % nanoserve::kSplitUnit == 0);
            next = range.end;
        }
    }
    CHECK(next == seq_len);
}

TEST_CASE("no split has more than one unit more than another", "[split]") {
    const std::int32_t seq_len = GENERATE(5, 160, 161, 5000);
    const std::int32_t num_splits = GENERATE(2, 3, 7, 33);
    std::int32_t least = seq_len, most = 0;
    for (std::int32_t i = 0; i < num_splits; ++i) {
        const TokenRange range = split_range(seq_len, num_splits, i);
        const std::int32_t units = (range.end - range.begin + 15) / 16;
        least = std::min(least, units);
        most = std::max(most, units);
    }
    CAPTURE(seq_len, num_splits, least, most);
    CHECK(most - least <= 1);
}

TEST_CASE("one sequence is split until every place on the chip has a thread block", "[split]") {
    CHECK(splits(1, 16384) == 33);  // 2 * 132 places, 8 thread blocks for each split
    CHECK(splits(4, 16384) == 8);
    CHECK(splits(16, 16384) == 2);
    CHECK(splits(17, 16384) == 1);  // 136 are more than half of the places
    CHECK(splits(64, 16384) == 1);
}

TEST_CASE("a short history is cut into no part that is shorter than its merge", "[split]") {
    CHECK(splits(1, 16) == 1);
    CHECK(splits(1, 255) == 1);
    CHECK(splits(1, 256) == 2);
    CHECK(splits(1, 1024) == 8);
    CHECK(splits(1, 4096) == 32);
}

TEST_CASE("the rule gives a number of splits for every load", "[split]") {
    const std::int64_t thread_blocks = GENERATE(0, 1, 5, 131, 264, 265, std::int64_t{1} << 31);
    const std::int64_t max_tokens = GENERATE(0, 127, 128, 100'000, 1 << 30);
    const std::int32_t num_sms = GENERATE(1, 80, 132, 4000);
    CAPTURE(thread_blocks, max_tokens, num_sms);
    const std::int32_t num_splits = choose_num_splits({thread_blocks, max_tokens}, num_sms);
    CHECK(num_splits >= 1);
    CHECK(num_splits <= nanoserve::kMaxSplits);
    CHECK((num_splits == 1 || num_splits * thread_blocks <= num_sms * 2));
    CHECK((num_splits == 1 || max_tokens / num_splits >= nanoserve::kMinSplitTokens));
}

TEST_CASE("the rule reads a batch's sizes: its room, its KV heads, large groups twice", "[split]") {
    PagedCase test = shareable();
    PagedAttentionParams params = test.params();
    params.max_blocks_per_seq = 1024;
    CHECK(choose_num_splits(params, kH200) == 128);  // 16384 tokens
    params.num_seqs = 4;
    CHECK(choose_num_splits(params, kH200) == 33);  // 2 KV heads each
    params.num_q_heads = 2 * 9;
    CHECK(choose_num_splits(params, kH200) == 16);
}

TEST_CASE(
    "the number of splits is refused for sizes that can't be, before anything divides by them",
    "[split]") {
    PagedCase test = shareable();
    const auto refused = [&](auto change, const char* message) {
        PagedAttentionParams params = test.params();
        change(params);
        CHECK_THROWS_MATCHES(choose_num_splits(params, kH200), std::invalid_argument,
                             Message(message));
        CHECK_THROWS_MATCHES(nanoserve::partials_bytes(params, 2), std::invalid_argument,
                             Message(message));
    };
    refused([](auto& p) { p.kv.layout.block_size = 0; },
            "block_size is 0; it must be at least 1 token");
    refused([](auto& p) { p.kv.layout.num_kv_heads = 0; },
            "num_kv_heads is 0; it must be at least 1");
    refused([](auto& p) { p.num_q_heads = -8; }, "num_q_heads is -8; it must be at least 1");
    refused([](auto& p) { p.num_seqs = -1; }, "num_seqs is -1; it must not be negative");
    PagedAttentionParams unplaced = test.params();  // its memory is asked for later
    unplaced.q = unplaced.out = nullptr;
    unplaced.seq_lens = nullptr;
    unplaced.kv.k_cache = unplaced.kv.v_cache = nullptr;
    CHECK(choose_num_splits(unplaced, kH200) == choose_num_splits(test.params(), kH200));
    CHECK(nanoserve::partials_bytes(unplaced, 2) == nanoserve::partials_bytes(test.params(), 2));
}

TEST_CASE("neighbouring lanes read neighbouring chunks, neighbouring readers neighbouring tokens",
          "[shared_heads]") {
    const int chunks_log2 = GENERATE(range(0, 6));
    const LaneMap lanes{chunks_log2};
    std::set<std::pair<int, int>> read;
    for (int lane = 0; lane < 32; ++lane) {
        CHECK(lanes.reader(lane) * (1 << chunks_log2) + lanes.chunk(lane) == lane);
        CHECK(lanes.reader(lane) < lanes.num_readers());
        CHECK(lanes.chunk(lane) < 1 << chunks_log2);
        read.emplace(lanes.reader(lane), lanes.chunk(lane));
    }
    CHECK(read.size() == 32);  // each chunk of each row once
}

TEST_CASE("what the kernels with shared heads do not take, they name", "[shared_heads]") {
    PagedCase test = shareable();
    const PagedAttentionParams good = test.params();
    REQUIRE(!nanoserve::reason_not_to_share_heads(good));
    const auto reason = [&](auto change) {
        PagedAttentionParams params = good;
        change(params);
        return nanoserve::reason_not_to_share_heads(params).value_or("none");
    };
    using P = PagedAttentionParams;
    CHECK(reason([](P& p) { p.kv.layout.head_dim = 80; }) ==
          "a row of head_dim 80 is 160 bytes; 16, 32, 64, 128, 256 and 512 are taken");
    CHECK(reason([](P& p) { p.kv.layout.head_dim = 4; }) ==
          "a row of head_dim 4 is 8 bytes; 16, 32, 64, 128, 256 and 512 are taken");
    CHECK(reason([](P& p) { p.kv.layout.head_dim = 512; }) ==
          "a row of head_dim 512 is 1024 bytes; 16, 32, 64, 128, 256 and 512 are taken");
    CHECK(reason([](P& p) { p.kv.layout.token_stride += 4; }) ==
          "token_stride is 264 bytes; multiples of 16 are taken");
    CHECK(reason([](P& p) { p.kv.v_cache = static_cast<const std::byte*>(p.kv.v_cache) + 8; }) ==
          "k_cache and v_cache must be multiples of 16 bytes");
    CHECK(reason([](P& p) { p.max_blocks_per_seq = (1 << 26) + 1; }) ==
          "max_blocks_per_seq is 67108865; 67108864 are taken");
    CHECK(reason([](P& p) {
              p.kv.layout.num_blocks = 1 << 20;
              p.kv.layout.block_stride = 1 << 15;
          }) ==
          "a pool of 1048576 blocks, 65536 bytes each, is too large; less than 2^36 bytes are "
          "taken");
    CHECK(reason([](P& p) {
              p.kv.layout.num_blocks = (1 << 20) - 1;
              p.kv.layout.block_stride = 1 << 15;
          }) == "none");
    for (const int exponent : {27, 59, 60}) {  // times 16 tokens the last two wrap to nothing
        CHECK(reason([&](P& p) { p.max_blocks_per_seq = std::int64_t{1} << exponent; }) != "none");
    }
    CHECK(reason([](P& p) { p.kv.layout.dtype = DType::fp8_e4m3; }) ==
          "the pool is fp8_e4m3; fp32, fp16 and bf16 are taken");
    for (const std::int32_t head_dim : {8, 16, 32, 128, 256}) {
        CAPTURE(head_dim);
        CHECK(reason([&](P& p) { p.kv.layout.head_dim = head_dim; }) == "none");
    }
    CHECK(reason([](P& p) {
              p.kv.layout.dtype = DType::fp32;
              p.kv.layout.head_dim = 4;
          }) == "none");
}

TEST_CASE("the arguments of the kernels with shared heads are refused as the general kernel's are",
          "[shared_heads]") {
    PagedCase test = shareable();
    PagedAttentionParams params = test.params();
    const auto refused = [&](const char* message) {
        CHECK_THROWS_MATCHES(nanoserve::make_shared_heads_args(params, nullptr),
                             std::invalid_argument, Message(message));
    };
    params.num_q_heads = 7;
    refused("num_q_heads is 7, which is no multiple of num_kv_heads 2");
    params = test.params();
    params.num_seqs = std::int64_t{1} << 28;
    refused("num_seqs is 268435456; with 8 query heads a grid holds 268435455");
    params = test.params();
    params.kv.layout.block_stride += 4;
    refused("block_stride is 4104 bytes; multiples of 16 are taken");
}
