// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// Day 21: which behaviours has the body of the kernel? The CPU twin runs it and counts its reads.
#include "exercise/expect.hpp"

#include <catch2/catch_test_macros.hpp>
#include <kernels/general/rounding_bounds.hpp>
#include <kernels/general/twin.hpp>

#include <algorithm>
#include <stdexcept>
#include <string>

using namespace nanoserve;
using namespace nanoserve::testing;

namespace {

// The twin's memory refuses what is not the sequence's own; that is a wrong answer, not an
// accident.
AccessReport run_twin(const PagedAttentionParams& params, ThreadOrder order) {
    try {
        return paged_attention_twin(params, order);
    } catch (const std::logic_error& error) {
        if (std::string(error.what()).starts_with("read of ")) {
            FAIL("a read of what is not the sequence's own: " << error.what());
        }
        throw;
    }
}

void twin(const PagedAttentionParams& params) {
    run_twin(params, ThreadOrder::ascending);
}

void expect_oracle(PagedCase& test, PagedAttentionParams params) {
    const RoundingBounds bounds = paged_attention_rounding_bounds(params);
    testing::expect_oracle(test, params, twin, std::max(bounds.out, bounds.lse));
}

// Slots without a token hold NaN, and so does shared memory at first.
void expect_oracle(const CaseSpec& spec) {
    PagedCase test(spec);
    expect_oracle(test, test.params());
}

constexpr AttentionShape kOneHead = {.num_q_heads = 1, .num_kv_heads = 1, .head_dim = 64};

// Token t of 40 scores t * rise. A step takes the tokens of one block, at most 32.
void expect_oracle_of_scores(float rise, std::int32_t block_size) {
    PagedCase test({.shape = kOneHead, .block_size = block_size, .seq_lens = {40}});
    test.set_q(1.0f);
    for (int t = 0; t < 40; ++t) {
        const auto entry = static_cast<std::size_t>(t / block_size);
        const BlockId block = test.tables().block_tables[entry];
        test.set_row(true, block, t % block_size, 0, rise * static_cast<float>(t) / 64.0f);
    }
    PagedAttentionParams params = test.params();
    params.sm_scale = 1.0f;
    expect_oracle(test, params);
}

}  // namespace

TEST_CASE("a step of 32 tokens has the oracle's numbers") {
    expect_oracle({.shape = kOneHead, .block_size = 32, .seq_lens = {32}});
}

TEST_CASE("the last step is as short as the tokens that are left") {
    for (const std::int32_t seq_len : {1, 3, 5, 18}) {
        expect_oracle({.shape = kOneHead, .block_size = 16, .seq_lens = {seq_len}});
    }
}

TEST_CASE("a block of more than 32 tokens is taken in several steps") {
    expect_oracle({.shape = kOneHead, .block_size = 70, .seq_lens = {140}});
}

TEST_CASE("scores that fall from step to step leave the sums as they are") {
    expect_oracle_of_scores(-1.5f, 1);
}

TEST_CASE("scores that rise from step to step move every sum to the new maximum") {
    expect_oracle_of_scores(1.5f, 1);
}

TEST_CASE("scores that rise to 117 within a step do not overflow") {
    expect_oracle_of_scores(3.0f, 40);
}

TEST_CASE("no lane goes beyond the elements of a row") {
    for (const std::int32_t head_dim : {8, 24, 40, 96, 200}) {
        expect_oracle({.shape = {.num_q_heads = 2, .num_kv_heads = 1, .head_dim = head_dim},
                       .seq_lens = {9}});
    }
}

TEST_CASE("each element of K and of V is read once for each query head") {
    PagedCase test({.block_size = 40, .seq_lens = {77}});
    const PagedAttentionParams params = test.params();
    const AccessReport report = run_twin(params, ThreadOrder::ascending);
    for (std::int32_t head = 0; head < params.num_q_heads; ++head) {
        INFO("query head " << head << " of 77 tokens, head_dim 16, 4 bytes an element");
        REQUIRE(report.at(0, head).k_bytes == 77 * 16 * 4);
        REQUIRE(report.at(0, head).v_bytes == 77 * 16 * 4);
        for (const auto& [slot, reads] : report.at(0, head).rows) {
            INFO("slot " << slot % 40 << " of block " << slot / 40);
            REQUIRE(reads.k == std::vector<std::int32_t>(16, 1));
            REQUIRE(reads.v == std::vector<std::int32_t>(16, 1));
        }
    }
}

TEST_CASE("threads may run in any order between two barriers") {
    PagedCase test({.block_size = 40, .seq_lens = {77}});
    expect_same_bits(
        test, [](const PagedAttentionParams& p) { run_twin(p, ThreadOrder::descending); }, twin);
}

TEST_CASE("the pool may hold 16-bit elements") {
    for (const DType dtype : {DType::fp16, DType::bf16}) {
        expect_oracle({.seq_lens = {10}, .dtype = dtype});
    }
}
