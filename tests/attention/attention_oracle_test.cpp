// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// The oracle itself is checked against attention worked out by hand.
#include "support/paged_case.hpp"

#include <nanoserve/attention/attention_oracle.hpp>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>

#include <cmath>

using Catch::Matchers::WithinRel;
using nanoserve::testing::PagedCase;

TEST_CASE("the oracle gives the mean of V for a zero query, and ln of the length as lse",
          "[attention]") {
    PagedCase test({.shape = {.num_q_heads = 2, .num_kv_heads = 1, .head_dim = 3},
                    .block_size = 4,
                    .seq_lens = {5}});
    test.set_q(0.0f);
    for (int t = 0; t < 5; ++t) {
        test.set_row(false, test.tables().block_tables[static_cast<std::size_t>(t / 4)], t % 4, 0,
                     static_cast<float>(t));
    }
    const auto oracle = nanoserve::attention_oracle(test.params());
    REQUIRE(oracle.out.size() == 6);
    for (const double value : oracle.out) {
        CHECK_THAT(value, WithinRel(2.0, 1e-15));
    }
    CHECK_THAT(oracle.lse[0], WithinRel(std::log(5.0), 1e-15));
}

TEST_CASE("the oracle weighs two tokens as the formula does", "[attention]") {
    // q = 1 everywhere, K0 = 0.125, K1 = 0, V0 = 1, V1 = 0, head_dim 96: out = 1 / (1 + e^-(96 *
    // 0.125 / sqrt 96)).
    PagedCase test({.shape = {.num_q_heads = 1, .num_kv_heads = 1, .head_dim = 96},
                    .block_size = 2,
                    .seq_lens = {2}});
    test.set_q(1.0f);
    const auto block = test.tables().block_tables[0];
    test.set_row(true, block, 0, 0, 0.125f);
    test.set_row(true, block, 1, 0, 0.0f);
    test.set_row(false, block, 0, 0, 1.0f);
    test.set_row(false, block, 1, 0, 0.0f);
    const auto oracle = nanoserve::attention_oracle(test.params());
    CHECK_THAT(oracle.out[0], WithinRel(1.0 / (1.0 + std::exp(-12.0 / std::sqrt(96.0))), 1e-14));
}

TEST_CASE("the error of an output counts its worst element or all, and NaN as infinite",
          "[attention]") {
    const nanoserve::OracleResult oracle = {.out = {1.0, -4.0, 2.0}, .lse = {}};
    const float close[] = {1.0f, -4.0f, 2.5f};
    CHECK(nanoserve::relative_error(close, nanoserve::DType::fp32, oracle) == 0.125);
    CHECK_THAT(nanoserve::relative_norm_error(close, nanoserve::DType::fp32, oracle),
               WithinRel(0.5 / std::sqrt(1.0 + 16.0 + 4.0), 1e-14));
    const float poisoned[] = {std::nanf(""), -4.0f, 2.0f};
    CHECK(std::isinf(nanoserve::relative_error(poisoned, nanoserve::DType::fp32, oracle)));
    CHECK(std::isinf(nanoserve::relative_norm_error(poisoned, nanoserve::DType::fp32, oracle)));
}
