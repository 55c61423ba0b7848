// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include "support/between_elements.hpp"
#include "support/paged_case.hpp"

#include <nanoserve/attention/merge_splits.hpp>
#include <nanoserve/attention/streaming_read.hpp>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>

#include <array>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <vector>

using Catch::Matchers::WithinRel;
using nanoserve::MergeSplitsParams;
using nanoserve::testing::between_elements;

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

}  // namespace

TEST_CASE("OPEN-13: merge_splits ignores empty pieces even when they hold NaN", "[attention]") {
    const std::array<float, 2> out_partial = {2.0f, NAN};
    const std::array<float, 2> lse_partial = {std::log(4.0f), -INFINITY};
    float out = NAN;
    float lse = NAN;
    nanoserve::merge_splits({.out_partial = out_partial.data(),
                             .lse_partial = lse_partial.data(),
                             .num_splits = 2,
                             .num_rows = 1,
                             .head_dim = 1,
                             .out = &out,
                             .lse = &lse});
    CHECK(out == 2.0f);
    CHECK_THAT(lse, WithinRel(1.386294f, 1e-6f));
}

TEST_CASE("OPEN-13: merging pieces without tokens, or no pieces, gives 0 and lse -inf",
          "[attention]") {
    const std::array<float, 2> nan = {NAN, NAN};
    const std::array<float, 2> empty = {-INFINITY, -INFINITY};
    for (const std::int64_t num_splits : {2, 0}) {
        float out = NAN;
        float lse = NAN;
        nanoserve::merge_splits({.out_partial = nan.data(),
                                 .lse_partial = empty.data(),
                                 .num_splits = num_splits,
                                 .num_rows = 1,
                                 .head_dim = 1,
                                 .out = &out,
                                 .lse = &lse});
        CHECK(out == 0.0f);
        CHECK(lse == -INFINITY);
    }
}

TEST_CASE("OPEN-13: pieces are weighed by the natural exponent of their lse", "[attention]") {
    // Three tokens of mean 1 and one of value 9, each piece attended to by the library's own read.
    std::array<float, 2> out_partial{};
    std::array<float, 2> lse_partial{};
    int piece = 0;
    for (const auto& [num_tokens, value] : {std::pair{3, 1.0f}, std::pair{1, 9.0f}}) {
        nanoserve::testing::PagedCase test(
            {.shape = {.num_q_heads = 1, .num_kv_heads = 1, .head_dim = 1},
             .block_size = 4,
             .seq_lens = {num_tokens}});
        test.set_q(0.0f);
        for (int t = 0; t < num_tokens; ++t) {
            test.set_row(false, test.tables().block_tables[0], t, 0, value);
        }
        auto params = test.params();
        params.out = &out_partial[static_cast<std::size_t>(piece)];
        params.lse = &lse_partial[static_cast<std::size_t>(piece)];
        nanoserve::streaming_read(params);
        ++piece;
    }
    float out = NAN;
    float lse = NAN;
    nanoserve::merge_splits({.out_partial = out_partial.data(),
                             .lse_partial = lse_partial.data(),
                             .num_splits = 2,
                             .num_rows = 1,
                             .head_dim = 1,
                             .out = &out,
                             .lse = &lse});
    CHECK_THAT(out, WithinRel(3.0f, 1e-6f));
    CHECK_THAT(lse, WithinRel(1.386294f, 1e-6f));
}

// ln 2 is lost in the rounding of an lse around 80000, so weights taken from it would not sum to 1.
TEST_CASE("OPEN-13: equal pieces merge to themselves, however large their lse is", "[attention]") {
    const float lse = GENERATE(0.0f, 80000.0f, -80000.0f, 3e38f, -3e38f);
    const int num_splits = GENERATE(1, 2, 3, 7);
    const std::vector<float> out_partial(static_cast<std::size_t>(num_splits), 0.3f);
    const std::vector<float> lse_partial(static_cast<std::size_t>(num_splits), lse);
    float out = NAN;
    nanoserve::merge_splits({.out_partial = out_partial.data(),
                             .lse_partial = lse_partial.data(),
                             .num_splits = num_splits,
                             .num_rows = 1,
                             .head_dim = 1,
                             .out = &out});
    CAPTURE(lse, num_splits);
    CHECK(out == 0.3f);
}

TEST_CASE("merge_splits keeps rows apart and survives far exponents", "[attention]") {
    const std::array<float, 8> out_partial = {1, 2, 3, 4,
                                              5, 6, 7, 8};  // 2 pieces, 2 rows, head_dim 2
    const std::array<float, 4> lse_partial = {80000.0f, 0.0f, -80000.0f, 0.0f};
    std::array<nanoserve::Bf16, 4> out{};
    nanoserve::merge_splits({.out_partial = out_partial.data(),
                             .lse_partial = lse_partial.data(),
                             .num_splits = 2,
                             .num_rows = 2,
                             .head_dim = 2,
                             .out = out.data(),
                             .out_dtype = nanoserve::DType::bf16});
    CHECK(nanoserve::to_float(out[0]) == 1.0f);
    CHECK(nanoserve::to_float(out[1]) == 2.0f);
    CHECK(nanoserve::to_float(out[2]) == 5.0f);
    CHECK(nanoserve::to_float(out[3]) == 6.0f);
}

TEST_CASE("OPEN-13: an lse that is no number of tokens makes its row NaN, and only that",
          "[attention]") {
    for (const float no_lse : {kInfinity, std::numeric_limits<float>::quiet_NaN()}) {
        const std::vector<float> out_partial = {1.0f, 2.0f, 3.0f, 4.0f};
        const std::vector<float> lse_partial = {0.0f, 0.0f, no_lse, 0.0f};  // 2 pieces of 2 rows
        std::vector<float> out(2), lse(2);
        nanoserve::merge_splits({.out_partial = out_partial.data(),
                                 .lse_partial = lse_partial.data(),
                                 .num_splits = 2,
                                 .num_rows = 2,
                                 .head_dim = 1,
                                 .out = out.data(),
                                 .lse = lse.data()});
        CHECK(std::isnan(out[0]));
        CHECK(out[1] == 3.0f);
        CHECK(std::abs(lse[1] - std::log(2.0f)) < 1e-6f);
    }
}

TEST_CASE("merge_splits refuses a pointer between two elements, by name", "[attention]") {
    std::array<float, 1> memory = {};
    const auto refused = [&](auto MergeSplitsParams::*pointer, const char* message) {
        MergeSplitsParams params{.out_partial = memory.data(),
                                 .lse_partial = memory.data(),
                                 .num_splits = 1,
                                 .num_rows = 1,
                                 .head_dim = 1,
                                 .out = memory.data()};
        params.*pointer = between_elements(memory.data());
        CHECK_THROWS_MATCHES(nanoserve::merge_splits(params), std::invalid_argument,
                             Catch::Matchers::Message(message));
    };
    refused(&MergeSplitsParams::out_partial, "out_partial is not a multiple of 4 bytes");
    refused(&MergeSplitsParams::lse_partial, "lse_partial is not a multiple of 4 bytes");
    refused(&MergeSplitsParams::out, "out is not a multiple of 4 bytes");
    refused(&MergeSplitsParams::lse, "lse is not a multiple of 4 bytes");
}

TEST_CASE("merge_splits refuses negative counts and null pointers", "[attention]") {
    float x = 0.0f;
    MergeSplitsParams params{.num_splits = 1, .num_rows = 1, .head_dim = 1};
    CHECK_THROWS_MATCHES(nanoserve::merge_splits(params), std::invalid_argument,
                         Catch::Matchers::Message("out is null"));
    params.out = &x;
    CHECK_THROWS_MATCHES(nanoserve::merge_splits(params), std::invalid_argument,
                         Catch::Matchers::Message("out_partial or lse_partial is null"));
    params.num_splits = -1;
    CHECK_THROWS_MATCHES(nanoserve::merge_splits(params), std::invalid_argument,
                         Catch::Matchers::Message("num_splits is -1; it must not be negative"));
}
