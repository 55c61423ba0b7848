// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <nanoserve/cache/kv_layout.hpp>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>

#include <set>
#include <stdexcept>

using nanoserve::KVLayout;

namespace {

constexpr nanoserve::PoolShape kShape = {
    .num_blocks = 5, .block_size = 3, .num_kv_heads = 2, .head_dim = 4};

}  // namespace

TEST_CASE("each order gives every row a place of its own", "[cache]") {
    const KVLayout layout = GENERATE(nanoserve::nhd_layout(kShape), nanoserve::hnd_layout(kShape),
                                     nanoserve::interleaved_layout(kShape));
    std::set<std::int64_t> elements;
    for (int block = 0; block < 5; ++block) {
        for (int token = 0; token < 3; ++token) {
            for (int head = 0; head < 2; ++head) {
                for (int d = 0; d < 4; ++d) {
                    elements.insert(layout.offset(block, token, head) + d);
                }
            }
        }
    }
    CHECK(elements.size() == 5 * 3 * 2 * 4);
    CHECK(*elements.begin() == 0);
    CHECK(*elements.rbegin() < 5 * layout.block_stride);
}

TEST_CASE("a worked example of the three orders", "[cache]") {
    CHECK(nanoserve::nhd_layout(kShape).offset(1, 2, 1) == 24 + 2 * 8 + 4);
    CHECK(nanoserve::hnd_layout(kShape).offset(1, 2, 1) == 24 + 1 * 12 + 2 * 4);
    CHECK(nanoserve::interleaved_layout(kShape).offset(1, 2, 1) == 48 + 2 * 8 + 4);
    CHECK(nanoserve::nhd_layout(kShape).is_dense_nhd());
    CHECK(nanoserve::interleaved_layout(kShape).is_dense_nhd());
    CHECK_FALSE(nanoserve::hnd_layout(kShape).is_dense_nhd());
}

TEST_CASE("OPEN-07: the offset of a far block does not wrap at 32 bits", "[cache]") {
    const auto layout = nanoserve::nhd_layout(
        {.num_blocks = 70001, .block_size = 32, .num_kv_heads = 8, .head_dim = 128});
    CHECK(layout.offset(70000, 0, 0) == 2293760000);
}

TEST_CASE("OPEN-12: blocks_needed rounds up", "[cache]") {
    const auto blocks = [](std::int64_t num_tokens) {
        return nanoserve::blocks_needed(num_tokens, 4);
    };
    CHECK(blocks(0) == 0);
    CHECK(blocks(1) == 1);
    CHECK(blocks(3) == 1);
    CHECK(blocks(4) == 1);
    CHECK(blocks(5) == 2);
    CHECK(blocks(8) == 2);
    CHECK(blocks(9) == 3);
    CHECK(nanoserve::blocks_needed(INT64_MAX, 16) == INT64_MAX / 16 + 1);
}

TEST_CASE("a pool with its heads outermost is refused, though its rows are apart", "[cache]") {
    const KVLayout layout = {.num_blocks = 2,
                             .block_size = 1,
                             .num_kv_heads = 2,
                             .head_dim = 4,
                             .block_stride = 4,
                             .token_stride = 4,
                             .head_stride = 8};
    CHECK_THROWS_MATCHES(
        nanoserve::validate(layout), std::invalid_argument,
        Catch::Matchers::Message("block_stride is 4; a block reaches over 12 elements"));
}

TEST_CASE("a layout that can't be is refused by name and value", "[cache]") {
    KVLayout layout = nanoserve::nhd_layout(kShape);
    layout.block_size = 0;
    CHECK_THROWS_MATCHES(nanoserve::validate(layout), std::invalid_argument,
                         Catch::Matchers::Message("block_size is 0; it must be at least 1 token"));
    layout = nanoserve::nhd_layout(kShape);
    layout.token_stride = 3;
    CHECK_THROWS_MATCHES(
        nanoserve::validate(layout), std::invalid_argument,
        Catch::Matchers::Message("token_stride is 3; a row has head_dim 4 elements"));
}

TEST_CASE("OPEN-09: strides that let rows or blocks overlap are refused", "[cache]") {
    const auto refused = [](void (*spoil)(KVLayout&), const char* message) {
        KVLayout layout = nanoserve::nhd_layout(kShape);
        spoil(layout);
        CHECK_THROWS_MATCHES(nanoserve::validate(layout), std::invalid_argument,
                             Catch::Matchers::Message(message));
    };
    refused([](KVLayout& l) { l.head_stride = 3; },
            "head_stride is 3; a row has head_dim 4 elements");
    refused([](KVLayout& l) { l.block_stride = 3; },
            "block_stride is 3; a row has head_dim 4 elements");
    refused([](KVLayout& l) { l.token_stride = 4; },
            "token_stride 4 and head_stride 4 make rows of 4 elements overlap in a block of 3 "
            "tokens and 2 heads");
    refused([](KVLayout& l) { l.block_stride = 23; },
            "block_stride is 23; a block reaches over 24 elements");
    for (const std::int32_t num_blocks : {0, 1, 2}) {  // one block alone overlaps with no other
        KVLayout layout = nanoserve::nhd_layout(kShape);
        layout.num_blocks = num_blocks;
        CHECK_NOTHROW(nanoserve::validate(layout));
        layout.block_stride = 23;
        CHECK_THROWS_AS(nanoserve::validate(layout), std::invalid_argument);
    }
    refused([](KVLayout& l) { l.block_stride = std::int64_t{1} << 50; },
            "block_stride is 1125899906842624; it can be at most 2^48 elements");
    refused([](KVLayout& l) { l.num_blocks = -1; }, "num_blocks is -1; it must not be negative");
    refused([](KVLayout& l) { l.num_kv_heads = 0; }, "num_kv_heads is 0; it must be at least 1");
    refused([](KVLayout& l) { l.head_dim = 0; }, "head_dim is 0; it must be at least 1");
    refused([](KVLayout& l) { l.dtype = static_cast<nanoserve::DType>(7); },
            "dtype 7 is none of fp32, fp16, bf16, fp8_e4m3");
    CHECK_NOTHROW(nanoserve::validate(nanoserve::hnd_layout(kShape)));
    CHECK_NOTHROW(nanoserve::validate(nanoserve::interleaved_layout(kShape)));
    KVLayout padded = nanoserve::nhd_layout(kShape);
    padded.token_stride = 10;
    padded.block_stride = 40;
    CHECK_NOTHROW(nanoserve::validate(padded));
}

TEST_CASE("OPEN-07: a pool whose last offset would wrap is refused", "[cache]") {
    for (const nanoserve::DType dtype : {nanoserve::DType::fp8_e4m3, nanoserve::DType::fp32}) {
        KVLayout layout = nanoserve::nhd_layout({.dtype = dtype,
                                                 .num_blocks = 1 << 17,
                                                 .block_size = 1,
                                                 .num_kv_heads = 1,
                                                 .head_dim = 1});
        layout.block_stride = std::int64_t{1} << 31;  // 2^48 elements in all
        CHECK_NOTHROW(nanoserve::validate(layout));
        layout.block_stride += 1;
        CHECK_THROWS_MATCHES(
            nanoserve::validate(layout), std::invalid_argument,
            Catch::Matchers::Message("a pool of 131072 blocks, 2147483649 elements apart, has more "
                                     "than 2^48 elements"));
    }
}

TEST_CASE("OPEN-07: sizes whose strides would wrap are refused", "[cache]") {
    constexpr std::int32_t kHuge = 2147483647;
    CHECK_THROWS_AS(
        nanoserve::nhd_layout(
            {.num_blocks = 1, .block_size = kHuge, .num_kv_heads = kHuge, .head_dim = kHuge}),
        std::invalid_argument);
    CHECK_THROWS_AS(
        nanoserve::hnd_layout(
            {.num_blocks = 1, .block_size = kHuge, .num_kv_heads = kHuge, .head_dim = kHuge}),
        std::invalid_argument);
}
