// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// Day 19: which behaviours has the fused read?
#include "exercise/expect.hpp"

#include <nanoserve/attention/gather_read.hpp>
#include <nanoserve/attention/paged_attention_reference.hpp>
#include <nanoserve/attention/rounding_bound.hpp>

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <cmath>
#include <stdexcept>

using namespace nanoserve;
using namespace nanoserve::testing;

namespace {

// The library of a check refuses calls that leave a thread's own memory or its table, in words.
void fused_by(int num_threads, const PagedAttentionParams& params) {
    ReadContext context({.num_threads = num_threads});
    try {
        paged_attention_reference(params, context);
    } catch (const std::invalid_argument& refusal) {
        FAIL(refusal.what());
    }
}

void fused(const PagedAttentionParams& params) {
    fused_by(1, params);
}

void gather(const PagedAttentionParams& params) {
    gather_read(params);
}

// Slots without a token hold NaN, and table entries past the used ones are ids of no block.
void expect_oracle(const CaseSpec& spec, std::optional<float> sm_scale = {}) {
    PagedCase test(spec);
    PagedAttentionParams params = test.params();
    params.sm_scale = sm_scale;
    testing::expect_oracle(test, params, fused, rounding_bound(params));
}

}  // namespace

TEST_CASE("the read of one full block has the oracle's numbers") {
    expect_oracle(
        {.shape = {.num_q_heads = 1, .num_kv_heads = 1, .head_dim = 16}, .seq_lens = {4}});
}

TEST_CASE("blocks are found through the table, wherever they lie in the pool") {
    expect_oracle(
        {.shape = {.num_q_heads = 1, .num_kv_heads = 1, .head_dim = 16}, .seq_lens = {12}});
}

TEST_CASE("each query head reads the KV head of its group") {
    for (const std::int32_t group_size : {1, 2, 3, 8}) {
        expect_oracle({.shape = {.num_q_heads = 3 * group_size, .num_kv_heads = 3, .head_dim = 16},
                       .seq_lens = {8}});
    }
}

TEST_CASE("the last block is read only up to seq_len") {
    for (const std::int32_t seq_len : {1, 3, 5, 9, 15}) {
        expect_oracle({.seq_lens = {seq_len}});
    }
}

TEST_CASE("each sequence of a batch is read through its own table, with its own length") {
    expect_oracle({.block_size = 3, .seq_lens = {7, 1, 0, 12}});
}

TEST_CASE("an empty sequence gives out = 0 and lse = -inf") {
    PagedCase test({.seq_lens = {0}});
    fused(test.params());
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
        expect_oracle({.seq_lens = {10}, .dtype = dtype});
    }
}

TEST_CASE("sm_scale is a factor on every score, 0 included") {
    expect_oracle({.seq_lens = {10}}, 0.5f);
    expect_oracle({.seq_lens = {10}}, 0.0f);
}

TEST_CASE("three threads give the bits of one") {
    const CaseSpec spec = {.seq_lens = {70, 2}};
    expect_oracle(spec);
    PagedCase test(spec);
    expect_same_bits(
        test, [](const PagedAttentionParams& params) { fused_by(3, params); }, fused);
}

TEST_CASE("the bits are those of Day 16's gather, whatever the block size") {
    for (const std::int32_t block_size : {1, 5, 16}) {
        PagedCase test({.block_size = block_size, .seq_lens = {200}});
        expect_same_bits(test, fused, gather);
    }
}
