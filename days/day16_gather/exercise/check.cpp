// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// Day 16: which behaviours has the gather?
#include "exercise/expect.hpp"

#include <nanoserve/attention/gather_read.hpp>
#include <nanoserve/attention/paged_attention_reference.hpp>
#include <nanoserve/attention/rounding_bound.hpp>

#include <catch2/catch_test_macros.hpp>

#include <cmath>
#include <optional>

using namespace nanoserve;
using namespace nanoserve::testing;

namespace {

// With scratch memory of its own, so that nothing is left there from another case.
void gather(const PagedAttentionParams& params) {
    ReadContext context;
    gather_read(params, context);
}

// Slots without a token hold NaN, and table entries past the used ones are ids of no block.
void expect_oracle(const CaseSpec& spec, std::optional<float> sm_scale = {}) {
    PagedCase test(spec);
    PagedAttentionParams params = test.params();
    params.sm_scale = sm_scale;
    testing::expect_oracle(test, params, gather, rounding_bound(params));
}

constexpr AttentionShape kOneHead = {.num_q_heads = 1, .num_kv_heads = 1, .head_dim = 16};

}  // namespace

TEST_CASE("a history of one full block is read as it is") {
    expect_oracle({.shape = kOneHead, .seq_lens = {4}});
}

TEST_CASE("blocks come in the order of the table, wherever they lie in the pool") {
    expect_oracle({.shape = kOneHead, .seq_lens = {12}});
}

TEST_CASE("slots that no token uses are masked") {
    for (const std::int32_t seq_len : {1, 3, 5, 9, 15}) {
        expect_oracle({.shape = kOneHead, .seq_lens = {seq_len}});
    }
}

TEST_CASE("each query head reads the KV head of its group") {
    for (const std::int32_t group_size : {1, 2, 3, 8}) {
        expect_oracle({.shape = {.num_q_heads = 3 * group_size, .num_kv_heads = 3, .head_dim = 16},
                       .seq_lens = {8}});
    }
}

TEST_CASE("a short sequence sees nothing of the longer one before it") {
    expect_oracle({.seq_lens = {15, 1, 7, 2}});
}

TEST_CASE("an empty sequence gives out = 0 and lse = -inf") {
    PagedCase test({.seq_lens = {0}});
    gather(test.params());
    for (const float element : test.out_floats()) {
        REQUIRE(element == 0.0f);
    }
    for (const float lse : test.lse()) {
        REQUIRE(lse == -INFINITY);
    }
}

TEST_CASE("the pool may be in the order NHD, HND or interleaved") {
    for (const PoolOrder order : {PoolOrder::nhd, PoolOrder::hnd, PoolOrder::interleaved}) {
        expect_oracle({.seq_lens = {10}, .order = order});
    }
}

TEST_CASE("the pool may hold 16-bit elements") {
    for (const DType dtype : {DType::fp16, DType::bf16}) {
        for (const PoolOrder order : {PoolOrder::nhd, PoolOrder::hnd}) {
            expect_oracle({.seq_lens = {10}, .dtype = dtype, .order = order});
        }
    }
}

TEST_CASE("sm_scale is a factor on every score, 0 included") {
    expect_oracle({.seq_lens = {10}}, 0.5f);
    expect_oracle({.seq_lens = {10}}, 0.0f);
}

TEST_CASE("three threads give the bits of one") {
    PagedCase test({.seq_lens = {70, 2}});
    expect_same_bits(
        test,
        [](const PagedAttentionParams& params) {
            ReadContext context({.num_threads = 3});
            gather_read(params, context);
        },
        gather);
}

TEST_CASE("the bits are those of a read that copies nothing") {
    for (const std::int32_t block_size : {1, 5, 16}) {
        PagedCase test({.block_size = block_size, .seq_lens = {200}});
        expect_same_bits(test, gather, [](const PagedAttentionParams& params) {
            paged_attention_reference(params);
        });
    }
}
