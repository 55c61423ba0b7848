// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// Day 23: which behaviours have the split, the rule and the merge?
#include "exercise/expect.hpp"

#include <catch2/catch_test_macros.hpp>
#include <kernels/shared_heads/rounding_bounds.hpp>
#include <kernels/shared_heads/twin.hpp>
#include <kernels/split_kv/merge_parts.hpp>
#include <kernels/split_kv/split_history.hpp>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>
#include <vector>

using namespace nanoserve;
using namespace nanoserve::testing;

namespace {

ElementSums merge(const std::vector<ElementSums>& parts) {
    return merge_parts(static_cast<int>(parts.size()),
                       [&](int i) { return parts[static_cast<std::size_t>(i)]; });
}

void expect_sums(const ElementSums& got, const ElementSums& expected) {
    expect_equal("max", double{got.max}, double{expected.max});
    expect_equal("sum", double{got.sum}, double{expected.sum});
    expect_equal("out", double{got.out}, double{expected.out});
}

// A part of one token without a value, k powers of two below the largest.
ElementSums one_token(int k) {
    return {static_cast<float>(-k), 1.0f, 3.0f};
}

AccessReport run_twin(const PagedAttentionParams& params, std::int32_t num_splits) {
    try {
        return split_kv_twin(params, num_splits);
    } catch (const std::logic_error& error) {
        if (std::string(error.what()).starts_with("read of ")) {
            FAIL("a read of what is not the sequence's own: " << error.what());
        }
        throw;
    }
}

void expect_oracle_of(const CaseSpec& spec, std::int32_t num_splits) {
    INFO(num_splits << " splits");
    PagedCase test(spec);
    const PagedAttentionParams params = test.params();
    const RoundingBounds bounds = shared_heads_rounding_bounds(params, num_splits);
    testing::expect_oracle(
        test, params, [&](const PagedAttentionParams& p) { run_twin(p, num_splits); },
        std::max(bounds.out, bounds.lse));
}

// Llama 3 8B on an H200: 8 thread blocks for each sequence, 132 multiprocessors.
std::int32_t splits(std::int64_t num_seqs, std::int64_t max_tokens) {
    return choose_num_splits(SplitLoad{.thread_blocks = 8 * num_seqs, .max_tokens = max_tokens},
                             132);
}

void expect_splits(std::int64_t num_seqs, std::int64_t max_tokens, std::int32_t expected) {
    expect_equal("splits of " + std::to_string(num_seqs) + " sequences of up to " +
                     std::to_string(max_tokens) + " tokens",
                 double{static_cast<double>(splits(num_seqs, max_tokens))},
                 double{static_cast<double>(expected)});
}

}  // namespace

TEST_CASE("equal parts of a history follow each other") {
    for (std::int32_t i = 0; i < 4; ++i) {
        const TokenRange range = split_range(256, 4, i);
        INFO("split " << i << " of 4 of 256 tokens");
        REQUIRE(range.begin == 64 * i);
        REQUIRE(range.end == 64 * (i + 1));
    }
}

TEST_CASE("all splits together have each token once") {
    for (const std::int32_t seq_len : {0, 1, 17, 250, 4095}) {
        for (const std::int32_t num_splits : {1, 2, 7, 33}) {
            std::vector<int> times(static_cast<std::size_t>(seq_len), 0);
            INFO(seq_len << " tokens, " << num_splits << " splits");
            for (std::int32_t i = 0; i < num_splits; ++i) {
                const TokenRange range = split_range(seq_len, num_splits, i);
                REQUIRE(range.end <= seq_len);
                for (std::int32_t t = range.begin; t < range.end; ++t) {
                    ++times[static_cast<std::size_t>(t)];
                }
            }
            REQUIRE(times == std::vector<int>(times.size(), 1));
        }
    }
}

TEST_CASE("no split has more than 16 tokens more than another, and each begins at 16 or more") {
    for (const std::int32_t num_splits : {3, 7, 33}) {
        std::int32_t least = 1000, most = 0;
        for (std::int32_t i = 0; i < num_splits; ++i) {
            const TokenRange range = split_range(50 * 16, num_splits, i);
            INFO("split " << i << " of " << num_splits << " of 800 tokens");
            REQUIRE(range.begin % kSplitUnit == 0);
            least = std::min(least, range.end - range.begin);
            most = std::max(most, range.end - range.begin);
        }
        INFO(num_splits << " splits of 800 tokens: " << least << " to " << most);
        REQUIRE(most - least <= kSplitUnit);
    }
}

TEST_CASE("one sequence is split until every place on the chip has a thread block") {
    expect_splits(1, 16384, 33);
    expect_splits(4, 16384, 8);
    expect_splits(16, 16384, 2);
}

TEST_CASE("a batch that fills the chip is not split") {
    expect_splits(33, 16384, 1);
    expect_splits(1000, 16384, 1);
}

TEST_CASE("no split is shorter than 128 tokens, as far as the table has room") {
    expect_splits(1, 1024, 8);
    expect_splits(1, 300, 2);
    expect_splits(1, 16, 1);
}

TEST_CASE("one part is itself") {
    expect_sums(merge({{-3.0f, 2.5f, -7.25f}}), {-3.0f, 2.5f, -7.25f});
}

TEST_CASE("two parts are moved to the larger maximum before they are added") {
    expect_sums(merge({{5.0f, 3.0f, 6.0f}, {7.0f, 1.0f, 8.0f}}), {7.0f, 1.75f, 9.5f});
    expect_sums(merge({{7.0f, 1.0f, 8.0f}, {5.0f, 3.0f, 6.0f}}), {7.0f, 1.75f, 9.5f});
}

TEST_CASE("a part without tokens is left out, whatever it holds") {
    const ElementSums empty = {-INFINITY, NAN, NAN};
    expect_sums(merge({empty, {2.0f, 3.0f, 4.0f}, empty}), {2.0f, 3.0f, 4.0f});
    expect_sums(merge({empty, empty}), {-INFINITY, 0.0f, 0.0f});
    expect_sums(merge({}), {-INFINITY, 0.0f, 0.0f});
}

TEST_CASE("a part that is NaN, whose scores never became a maximum, is told and not left out") {
    const ElementSums broken = {told_max(-INFINITY, NAN), NAN, NAN};
    for (const ElementSums& all : {merge({broken}), merge({{2.0f, 3.0f, 4.0f}, broken})}) {
        expect_equal("max is NaN", double{std::isnan(all.max)}, 1.0);
        expect_equal("out is NaN", double{std::isnan(all.out)}, 1.0);
    }
}

TEST_CASE("many parts may have their largest maximum anywhere") {
    std::vector<ElementSums> parts;
    for (int i = 0; i < 20; ++i) {
        parts.push_back(one_token(19 - i));
    }
    // 1 + 1/2 + ... + 2^-19, exact in fp32.
    const float sum = 2.0f - 0x1p-19f;
    expect_sums(merge(parts), {0.0f, sum, 3.0f * sum});
    std::reverse(parts.begin(), parts.end());
    expect_sums(merge(parts), {0.0f, sum, 3.0f * sum});
}

TEST_CASE("maxima that lie far apart neither overflow nor make NaN") {
    expect_sums(merge({{-9000.0f, 1.0f, 1.0f}, {9000.0f, 2.0f, 3.0f}}), {9000.0f, 2.0f, 3.0f});
}

TEST_CASE("a history that is split has the oracle's numbers, empty splits included") {
    for (const std::int32_t num_splits : {1, 2, 5, 11, 30}) {
        expect_oracle_of({.seq_lens = {0, 1, 16, 17, 300}}, num_splits);
    }
}

TEST_CASE("each byte is read once for its group, by whichever split has it") {
    PagedCase test({.seq_lens = {150}});
    const AccessReport report = run_twin(test.params(), 4);
    INFO("150 tokens, head_dim 16, 4 bytes an element, 4 splits");
    REQUIRE(report.at(0, 0).k_bytes == 150 * 16 * 4);
    REQUIRE(report.at(0, 1).v_bytes == 150 * 16 * 4);
    for (const auto& [slot, reads] : report.at(0, 0).rows) {
        INFO("slot " << slot);
        REQUIRE(reads.k == std::vector<std::int32_t>(16, 1));
    }
}
