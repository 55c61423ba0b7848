// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// What the reads refuse about fp8 and its scales, and what scales do to a result.
#include "support/between_elements.hpp"
#include "support/paged_case.hpp"

#include <nanoserve/attention/gather_read.hpp>
#include <nanoserve/attention/merge_splits.hpp>
#include <nanoserve/attention/paged_attention_reference.hpp>
#include <nanoserve/attention/sdpa.hpp>
#include <nanoserve/attention/streaming_read.hpp>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>

#include <array>
#include <cmath>
#include <functional>
#include <stdexcept>

using Catch::Matchers::Message;
using namespace nanoserve;
using nanoserve::testing::PagedCase;

namespace {

const nanoserve::testing::CaseSpec kSpec = {.block_size = 16, .dtype = DType::fp8_e4m3};

void refused(const std::function<void(PagedAttentionParams&)>& spoil, const char* message) {
    PagedCase test(kSpec);
    PagedAttentionParams params = test.params();
    spoil(params);
    CHECK_THROWS_MATCHES(gather_read(params), std::invalid_argument, Message(message));
    CHECK_THROWS_MATCHES(paged_attention_reference(params), std::invalid_argument,
                         Message(message));
    CHECK_THROWS_MATCHES(streaming_read(params), std::invalid_argument, Message(message));
    CHECK_THROWS_MATCHES(attention_oracle(params), std::invalid_argument, Message(message));
    for (const float value : test.out_floats()) {
        REQUIRE(std::isnan(value));
    }
}

}  // namespace

TEST_CASE("q and out of fp8 are refused by name", "[attention]") {
    refused([](PagedAttentionParams& p) { p.io_dtype = DType::fp8_e4m3; },
            "io_dtype is fp8_e4m3, a type of pools; q and out take fp32, fp16, bf16");
    PagedCase test(kSpec);
    PagedAttentionParams params = test.params();
    params.io_dtype = DType::fp8_e4m3;
    CHECK_THROWS_AS(validate_sizes(params), std::invalid_argument);  // as a kernel's launch checks

    float x = 0.0f;
    const SdpaParams sdpa_params = {.q = &x,
                                    .out = &x,
                                    .io_dtype = DType::fp8_e4m3,
                                    .num_queries = 1,
                                    .shape = {.num_q_heads = 1, .num_kv_heads = 1, .head_dim = 1}};
    CHECK_THROWS_MATCHES(sdpa(sdpa_params), std::invalid_argument,
                         Message("io_dtype is fp8_e4m3; q and out take fp32, fp16, bf16"));
    CHECK_THROWS_MATCHES(
        merge_splits({.num_rows = 1, .head_dim = 1, .out = &x, .out_dtype = DType::fp8_e4m3}),
        std::invalid_argument, Message("out_dtype is fp8_e4m3; it must be fp32, fp16 or bf16"));
}

TEST_CASE("a read refuses a scale that is none before it writes anything", "[attention]") {
    refused([](PagedAttentionParams& p) { p.kv.scales.k.tensor = 0.0f; },
            "scales.k.tensor is 0; it must be finite and positive");
    refused([](PagedAttentionParams& p) { p.kv.scales.v.tensor = INFINITY; },
            "scales.v.tensor is inf; it must be finite and positive");
    static constexpr std::array kHeads = {1.0f, -2.0f};
    refused([](PagedAttentionParams& p) { p.kv.scales.v.heads = kHeads.data(); },
            "scales.v.heads[1] is -2; it must be finite and positive");
    const SdpaParams sdpa_params = {.kv_dtype = DType::fp8_e4m3,
                                    .scales = {.k = {.tensor = -1.0f}},
                                    .shape = {.num_q_heads = 1, .num_kv_heads = 1, .head_dim = 1}};
    CHECK_THROWS_MATCHES(sdpa(sdpa_params), std::invalid_argument,
                         Message("scales.k.tensor is -1; it must be finite and positive"));
}

TEST_CASE("an sm_scale whose product with the scale of K is infinite is refused", "[attention]") {
    const auto* const kMessage =
        "sm_scale is 1e+38 and an element of K is worth 10; their product can be at most "
        "2.26855e+38 in magnitude";
    refused(
        [](PagedAttentionParams& p) {
            p.sm_scale = 1e38f;
            p.kv.scales.k.tensor = 10.0f;
        },
        kMessage);
    static constexpr std::array kHeads = {1.0f, 5.0f};
    refused(
        [](PagedAttentionParams& p) {
            p.sm_scale = 1e38f;
            p.kv.scales.k = {.tensor = 2.0f, .heads = kHeads.data()};
        },
        kMessage);
    const SdpaParams sdpa_params = {.kv_dtype = DType::fp8_e4m3,
                                    .scales = {.k = {.tensor = 10.0f}},
                                    .shape = {.num_q_heads = 1, .num_kv_heads = 1, .head_dim = 1},
                                    .sm_scale = 1e38f};
    CHECK_THROWS_MATCHES(sdpa(sdpa_params), std::invalid_argument, Message(kMessage));

    PagedCase test(kSpec);
    PagedAttentionParams params = test.params();
    params.sm_scale = 1e38f;
    params.kv.scales.k.tensor = 10.0f;
    CHECK_THROWS_MATCHES(validate_sizes(params), std::invalid_argument, Message(kMessage));
    params.kv.scales.k.heads = kHeads.data();  // on a device nobody looks at them
    CHECK_NOTHROW(validate_sizes(params));
    params.kv.scales.k = {.tensor = 2.0f};  // 2e38: its product with log2(e) is finite
    CHECK_NOTHROW(validate(params));
}

TEST_CASE("factors of heads between two elements are refused by name", "[attention]") {
    const float factor = 1.0f;
    const float* const between = nanoserve::testing::between_elements(&factor);
    refused([&](PagedAttentionParams& p) { p.kv.scales.k.heads = between; },
            "scales.k.heads is not a multiple of 4 bytes");
    refused([&](PagedAttentionParams& p) { p.kv.scales.v.heads = between; },
            "scales.v.heads is not a multiple of 4 bytes");
}

TEST_CASE("a read refuses scales for a pool that is not fp8", "[attention]") {
    PagedCase test({.dtype = DType::bf16});
    PagedAttentionParams params = test.params();
    params.kv.scales.v.tensor = 2.0f;
    CHECK_THROWS_MATCHES(paged_attention_reference(params), std::invalid_argument,
                         Message("scales.v is set for a pool of bf16; only fp8_e4m3 has scales"));
}

TEST_CASE("the scale of V multiplies the output, that of K the scores", "[attention]") {
    PagedCase test(kSpec);
    const std::int64_t group_elements = 4 * 16;  // of the query heads of one KV head
    paged_attention_reference(test.params());
    const auto plain = test.out_floats();

    // A power of two multiplies without rounding.
    const std::array heads = {1.0f, 4.0f};
    PagedAttentionParams params = test.params();
    params.kv.scales.v = {.tensor = 0.5f, .heads = heads.data()};
    paged_attention_reference(params);
    const auto scaled = test.out_floats();
    for (std::size_t i = 0; i < plain.size(); ++i) {
        const float factor = static_cast<std::int64_t>(i) < group_elements ? 0.5f : 2.0f;
        CHECK(scaled[i] == factor * plain[i]);
    }

    params = test.params();
    params.sm_scale = 0.5f;
    paged_attention_reference(params);
    const auto expected = test.out_floats();
    const auto expected_lse = test.lse();
    params = test.params();
    params.sm_scale = 0.125f;
    params.kv.scales.k.tensor = 4.0f;
    paged_attention_reference(params);
    CHECK(test.out_floats() == expected);
    CHECK(test.lse() == expected_lse);
}
