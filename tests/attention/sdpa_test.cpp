// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include "support/between_elements.hpp"

#include <nanoserve/attention/sdpa.hpp>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>

#include <array>
#include <limits>
#include <vector>

using Catch::Matchers::WithinRel;
using nanoserve::SdpaParams;
using nanoserve::testing::between_elements;

namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

}  // namespace

TEST_CASE(
    "OPEN-02: sdpa hides masked tokens, also when they hold NaN, and a row that sees nothing is 0 "
    "with lse "
    "-inf",
    "[attention]") {
    for (const float hidden : {100.0f, kNaN}) {
        const std::array<float, 2> q = {0.0f, 0.0f};
        const std::array<float, 4> k = {0.0f, 0.0f, hidden, hidden};
        const std::array<float, 4> v = {1.0f, 3.0f, hidden, hidden};
        const std::array<std::uint8_t, 8> mask = {1, 1, 0, 0, 0, 0, 0, 0};
        std::array<float, 2> out = {kNaN, kNaN};
        std::array<float, 2> lse = {kNaN, kNaN};
        nanoserve::sdpa({.q = q.data(),
                         .out = out.data(),
                         .lse = lse.data(),
                         .num_queries = 2,
                         .k = k.data(),
                         .v = v.data(),
                         .num_tokens = 4,
                         .shape = {.num_q_heads = 1, .num_kv_heads = 1, .head_dim = 1},
                         .mask = mask.data()});
        CHECK(out[0] == 2.0f);
        CHECK_THAT(lse[0], WithinRel(0.6931472f, 1e-6f));
        CHECK(out[1] == 0.0f);
        CHECK(lse[1] == -kInfinity);
    }
}

TEST_CASE("a mask with holes gives what attention over the visible tokens alone gives",
          "[attention]") {
    constexpr std::int64_t kNumTokens = 75;
    std::vector<float> k(kNumTokens * 2 * 5), v(k.size()), q(4 * 5);
    for (std::size_t i = 0; i < k.size(); ++i) {
        k[i] = static_cast<float>(i * 37 % 101) / 50.0f - 1.0f;
        v[i] = static_cast<float>(i * 53 % 97) / 48.0f - 1.0f;
    }
    for (std::size_t i = 0; i < q.size(); ++i) {
        q[i] = static_cast<float>(i * 29 % 31) / 15.0f - 1.0f;
    }
    // The visible tokens come first once and are spread by threes once; lanes differ, so compare
    // the values of one head against an sdpa over only the visible ones with the holes moved to the
    // end.
    std::vector<std::uint8_t> mask(kNumTokens, 0);
    std::vector<float> packed_k, packed_v;
    for (std::int64_t t = 0; t < kNumTokens; ++t) {
        mask[static_cast<std::size_t>(t)] = t % 3 != 1;
        if (t % 3 != 1) {
            packed_k.insert(packed_k.end(), k.begin() + t * 10, k.begin() + (t + 1) * 10);
            packed_v.insert(packed_v.end(), v.begin() + t * 10, v.begin() + (t + 1) * 10);
        }
    }
    std::vector<float> masked_out(q.size(), kNaN), packed_out(q.size(), kNaN);
    SdpaParams params{.q = q.data(),
                      .out = masked_out.data(),
                      .num_queries = 1,
                      .k = k.data(),
                      .v = v.data(),
                      .num_tokens = kNumTokens,
                      .shape = {.num_q_heads = 4, .num_kv_heads = 2, .head_dim = 5},
                      .mask = mask.data()};
    nanoserve::sdpa(params);
    params.out = packed_out.data();
    params.k = packed_k.data();
    params.v = packed_v.data();
    params.num_tokens = 50;
    params.mask = nullptr;
    nanoserve::sdpa(params);
    for (std::size_t i = 0; i < q.size(); ++i) {
        // The weights are the same; only their sum is added in other lanes: two roundings apart at
        // most per lane step.
        CHECK_THAT(masked_out[i], WithinRel(packed_out[i], 16.0f * 0x1p-24f));
    }
}

TEST_CASE("each query attends on its own row of the mask", "[attention]") {
    const std::array<float, 3> q = {0.0f, 0.0f, 0.0f};
    const std::array<float, 3> k = {0.0f, 0.0f, 0.0f};
    const std::array<float, 3> v = {2.0f, 4.0f, 9.0f};
    const std::array<std::uint8_t, 9> causal = {1, 0, 0, 1, 1, 0, 1, 1, 1};
    std::array<float, 3> out{};
    nanoserve::sdpa({.q = q.data(),
                     .out = out.data(),
                     .num_queries = 3,
                     .k = k.data(),
                     .v = v.data(),
                     .num_tokens = 3,
                     .shape = {.num_q_heads = 1, .num_kv_heads = 1, .head_dim = 1},
                     .mask = causal.data()});
    CHECK(out == std::array<float, 3>{2.0f, 3.0f, 5.0f});
}

TEST_CASE("sdpa refuses what it can't do, by name", "[attention]") {
    SdpaParams params{.num_queries = 1,
                      .num_tokens = 1,
                      .shape = {.num_q_heads = 1, .num_kv_heads = 1, .head_dim = 1}};
    CHECK_THROWS_MATCHES(nanoserve::sdpa(params), std::invalid_argument,
                         Catch::Matchers::Message("q or out is null"));
    float x = 0.0f;
    params.q = params.out = &x;
    CHECK_THROWS_MATCHES(nanoserve::sdpa(params), std::invalid_argument,
                         Catch::Matchers::Message("k or v is null"));
    params.k = params.v = &x;
    params.sm_scale = kInfinity;
    CHECK_THROWS_AS(nanoserve::sdpa(params), std::invalid_argument);
    params.sm_scale = 1.0f;
    params.num_tokens = -1;
    CHECK_THROWS_AS(nanoserve::sdpa(params), std::invalid_argument);
}

TEST_CASE("sdpa refuses a pointer between two elements, by name", "[attention]") {
    std::array<float, 1> memory = {};
    const auto refused = [&](auto SdpaParams::*pointer, const char* message) {
        SdpaParams params{.q = memory.data(),
                          .out = memory.data(),
                          .num_queries = 1,
                          .k = memory.data(),
                          .v = memory.data(),
                          .num_tokens = 1,
                          .shape = {.num_q_heads = 1, .num_kv_heads = 1, .head_dim = 1}};
        params.*pointer = between_elements(memory.data());
        CHECK_THROWS_MATCHES(nanoserve::sdpa(params), std::invalid_argument,
                             Catch::Matchers::Message(message));
    };
    refused(&SdpaParams::q, "q is not a multiple of 4 bytes");
    refused(&SdpaParams::out, "out is not a multiple of 4 bytes");
    refused(&SdpaParams::k, "k is not a multiple of 4 bytes");
    refused(&SdpaParams::v, "v is not a multiple of 4 bytes");
    refused(&SdpaParams::lse, "lse is not a multiple of 4 bytes");
}

TEST_CASE("each query of a 16-bit batch reads and writes its own rows", "[attention]") {
    const std::array<nanoserve::Bf16, 4> q = {};
    const std::array<float, 4> kv = {1.0f, 2.0f, 3.0f, 4.0f};  // two tokens of head_dim 2
    const std::array<std::uint8_t, 4> mask = {1, 0, 0, 1};
    std::array<nanoserve::Bf16, 4> out{};
    nanoserve::sdpa({.q = q.data(),
                     .out = out.data(),
                     .io_dtype = nanoserve::DType::bf16,
                     .num_queries = 2,
                     .k = kv.data(),
                     .v = kv.data(),
                     .num_tokens = 2,
                     .shape = {.num_q_heads = 1, .num_kv_heads = 1, .head_dim = 2},
                     .mask = mask.data()});
    for (std::size_t i = 0; i < 4; ++i) {
        CHECK(nanoserve::to_float(out[i]) == kv[i]);
    }
}

TEST_CASE("sdpa refuses impossible shapes and counts", "[attention]") {
    float x = 0.0f;
    SdpaParams params{
        .q = &x, .out = &x, .num_queries = 1, .k = &x, .v = &x, .num_tokens = 1, .shape = {}};
    params.shape = {.num_q_heads = 3, .num_kv_heads = 2, .head_dim = 1};
    CHECK_THROWS_AS(nanoserve::sdpa(params), std::invalid_argument);
    params.shape = {.num_q_heads = 1, .num_kv_heads = 1, .head_dim = 1};
    params.num_queries = -1;
    CHECK_THROWS_MATCHES(nanoserve::sdpa(params), std::invalid_argument,
                         Catch::Matchers::Message("num_queries is -1; it must not be negative"));
}
