// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <nanoserve/model/attention_shape.hpp>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <cstdint>
#include <limits>
#include <stdexcept>

using Catch::Matchers::Equals;
using Catch::Matchers::MessageMatches;
using nanoserve::AttentionShape;
using nanoserve::DType;

TEST_CASE("a read of one Llama-3.2-1B layer loads 4 KiB of fp32 for each token", "[model]") {
    const AttentionShape shape = {.num_q_heads = 32, .num_kv_heads = 8, .head_dim = 64};
    CHECK(shape.group_size() == 4);
    CHECK(shape.kv_bytes(1, DType::fp32) == 4096);
    CHECK(shape.kv_bytes(4096, DType::fp32) == 16 * 1024 * 1024);
    CHECK(shape.kv_bytes(1, DType::bf16) == 2048);
}

TEST_CASE("bytes of a read are counted in 64 bits", "[model]") {
    const AttentionShape shape = {.num_q_heads = 64, .num_kv_heads = 64, .head_dim = 256};
    CHECK(shape.kv_bytes(1 << 20, DType::fp32) == std::int64_t{2} * 64 * 256 * 4 * (1 << 20));
}

TEST_CASE("bytes of a read beyond 64 bits are the most that 64 bits hold", "[model]") {
    constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
    const AttentionShape wide = {
        .num_q_heads = 1 << 20, .num_kv_heads = 1 << 20, .head_dim = 1 << 20};
    CHECK(wide.kv_bytes(1 << 20, DType::bf16) == std::int64_t{1} << 62);
    CHECK(wide.kv_bytes(1 << 21, DType::bf16) == kMost);
    CHECK(wide.kv_bytes(1 << 24, DType::fp32) == kMost);
    CHECK(wide.kv_bytes(kMost, DType::fp32) == kMost);
    CHECK(wide.kv_bytes(0, DType::fp32) == 0);
}

TEST_CASE("a shape that can't be is refused by name and value", "[model]") {
    const auto refused = [](AttentionShape shape, const char* message) {
        CHECK_THROWS_MATCHES(nanoserve::validate(shape), std::invalid_argument,
                             MessageMatches(Equals(message)));
    };
    refused({.num_q_heads = 33, .num_kv_heads = 2, .head_dim = 8},
            "num_q_heads is 33, which is no multiple of num_kv_heads 2");
    refused({.num_q_heads = 3, .num_kv_heads = 2, .head_dim = 8},
            "num_q_heads is 3, which is no multiple of num_kv_heads 2");
    refused({.num_q_heads = 8, .num_kv_heads = 0, .head_dim = 8},
            "num_kv_heads is 0; it must be at least 1");
    refused({.num_q_heads = 0, .num_kv_heads = 1, .head_dim = 8},
            "num_q_heads is 0; it must be at least 1");
    refused({.num_q_heads = 8, .num_kv_heads = 8, .head_dim = -64},
            "head_dim is -64; it must be at least 1");
    CHECK_NOTHROW(
        nanoserve::validate(AttentionShape{.num_q_heads = 48, .num_kv_heads = 2, .head_dim = 1}));
}
