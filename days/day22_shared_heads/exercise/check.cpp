// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// Day 22: which behaviours has the body of the kernel? The CPU twin runs it and counts its reads.
#include "exercise/expect.hpp"

#include <catch2/catch_test_macros.hpp>
#include <kernels/general/config.hpp>
#include <kernels/shared_heads/attend_group.hpp>
#include <kernels/shared_heads/rounding_bounds.hpp>
#include <kernels/shared_heads/twin.hpp>

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string>

using namespace nanoserve;
using namespace nanoserve::testing;

namespace {

// The twin's memory refuses what is not the sequence's own; that is a wrong answer, not an
// accident.
AccessReport run_twin(const PagedAttentionParams& params, ThreadOrder order) {
    try {
        return shared_heads_twin(params, order);
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
    const RoundingBounds bounds = shared_heads_rounding_bounds(params);
    testing::expect_oracle(test, params, twin, std::max(bounds.out, bounds.lse));
}

// Slots without a token hold NaN, and so does shared memory at first.
void expect_oracle(const CaseSpec& spec) {
    PagedCase test(spec);
    expect_oracle(test, test.params());
}

// One KV head for so many query heads; a row of fp32 with 4 chunks, so that a warp has 8 readers.
AttentionShape heads(std::int32_t group_size) {
    return {.num_q_heads = group_size, .num_kv_heads = 1, .head_dim = 16};
}

// Token t scores t * rise with every query head; with odd ones -t * rise.
void expect_oracle_of_scores(float rise, std::int32_t num_tokens) {
    PagedCase test({.shape = heads(2), .block_size = 16, .seq_lens = {num_tokens}});
    for (int t = 0; t < num_tokens; ++t) {
        const BlockId block = test.tables().block_tables[static_cast<std::size_t>(t / 16)];
        test.set_row(true, block, t % 16, 0, rise * static_cast<float>(t) / 16.0f);
    }
    std::vector<float> q(2 * 16, 1.0f);
    std::fill(q.begin() + 16, q.end(), -1.0f);
    PagedAttentionParams params = test.params();
    params.q = q.data();
    params.sm_scale = 1.0f;
    expect_oracle(test, params);
}

// The table of a sequence whose blocks stand in the pool in their order.
struct PlainTable {
    [[nodiscard]] BlockId block_id(std::int32_t i) const { return i; }
};

}  // namespace

TEST_CASE("a tile of one query head has the oracle's numbers") {
    expect_oracle({.shape = heads(1), .block_size = 32, .seq_lens = {32}});
}

TEST_CASE("a row of one chunk needs no exchange") {
    expect_oracle({.shape = {.num_q_heads = 1, .num_kv_heads = 1, .head_dim = 4},
                   .block_size = 128,
                   .seq_lens = {128}});
}

TEST_CASE("a row may have any power of two of chunks, up to 32") {
    for (const std::int32_t head_dim : {8, 32, 64, 128}) {
        expect_oracle({.shape = {.num_q_heads = 1, .num_kv_heads = 1, .head_dim = head_dim},
                       .block_size = 32,
                       .seq_lens = {32}});
    }
}

TEST_CASE("every query head of the group has the oracle's numbers") {
    for (const std::int32_t group_size : {2, 3, 4, 8, 12}) {
        expect_oracle({.shape = heads(group_size), .block_size = 32, .seq_lens = {32}});
    }
}

TEST_CASE("the last tile is as short as the tokens that are left") {
    for (const std::int32_t seq_len : {1, 7, 33, 300}) {
        expect_oracle({.shape = heads(2), .block_size = 16, .seq_lens = {seq_len}});
    }
}

TEST_CASE("a block may have any size") {
    for (const std::int32_t block_size : {1, 3, 24, 70}) {
        expect_oracle({.shape = heads(2), .block_size = block_size, .seq_lens = {100}});
    }
}

TEST_CASE("each KV head has rows of its own") {
    expect_oracle({.shape = {.num_q_heads = 6, .num_kv_heads = 3, .head_dim = 16},
                   .block_size = 8,
                   .seq_lens = {20, 0, 9}});
}

TEST_CASE("scores that rise for one head and fall for the other keep two maxima") {
    expect_oracle_of_scores(0.5f, 600);
}

TEST_CASE("scores that rise by 90 within a tile do not overflow") {
    expect_oracle_of_scores(3.0f, 32);
}

TEST_CASE("each 16 bytes of K and of V are read once for the whole group") {
    PagedCase test({.shape = heads(8), .block_size = 16, .seq_lens = {77}});
    const AccessReport report = run_twin(test.params(), ThreadOrder::ascending);
    INFO("8 query heads, 77 tokens, head_dim 16, 4 bytes an element");
    REQUIRE(report.at(0, 0).k_bytes == 77 * 16 * 4);
    REQUIRE(report.at(0, 0).v_bytes == 77 * 16 * 4);
    for (const auto& [slot, reads] : report.at(0, 0).rows) {
        INFO("slot " << slot % 16 << " of block " << slot / 16);
        REQUIRE(reads.k == std::vector<std::int32_t>(16, 1));
        REQUIRE(reads.v == std::vector<std::int32_t>(16, 1));
    }
}

TEST_CASE("in each step a warp asks for one run of 512 bytes, where the rows lie so") {
    using Config = SharedHeadsConfig<float, 1>;
    PagedCase test({.shape = heads(1), .block_size = 64, .seq_lens = {64}});
    const SharedHeadsArgs args = make_shared_heads_args(test.params(), nullptr);
    PlainTable table;
    std::array<LaneRows<Config>, 32> tiles;
    for (int lane = 0; lane < 32; ++lane) {
        find_rows(args, 0, table, 0, 64, lane, tiles[static_cast<std::size_t>(lane)]);
    }
    for (std::size_t step = 0; step < Config::kSteps; ++step) {
        for (std::size_t lane = 1; lane < 32; ++lane) {
            INFO("step " << step << ": chunks of lane " << lane - 1 << " and of lane " << lane);
            REQUIRE(tiles[lane].chunks[step] == tiles[lane - 1].chunks[step] + 1);
        }
    }
}

TEST_CASE("an absent block's tokens are left out, and the status says so") {
    PagedCase test({.shape = heads(2), .block_size = 4, .seq_lens = {30}});
    const PagedAttentionParams params = test.params();
    test.tables().block_tables[3] = params.kv.layout.num_blocks;
    const AccessReport report = run_twin(params, ThreadOrder::ascending);
    REQUIRE(report.status == kAbsentBlock);
    REQUIRE(report.at(0, 0).k_bytes == 26 * 16 * 4);
}

TEST_CASE("the lanes of a warp may run in any order") {
    PagedCase test({.shape = heads(4), .block_size = 16, .seq_lens = {200}});
    expect_same_bits(
        test, [](const PagedAttentionParams& p) { run_twin(p, ThreadOrder::descending); }, twin);
}

TEST_CASE("the pool may hold 16-bit elements, 8 in a chunk") {
    for (const DType dtype : {DType::fp16, DType::bf16}) {
        expect_oracle({.shape = heads(4), .block_size = 16, .seq_lens = {50}, .dtype = dtype});
    }
}
