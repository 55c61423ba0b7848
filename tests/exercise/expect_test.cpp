// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include "exercise/expect.hpp"

#include <catch2/catch_test_macros.hpp>

#include <cmath>

using nanoserve::testing::Expectation;
using nanoserve::testing::first_difference;

namespace {

const Expectation kSix = {.name = "out",
                          .axes = {{"num_q_heads", 2}, {"head_dim", 3}},
                          .expected = {0, 1, 2, 3, 4, 5},
                          .bound = 0.25};

}  // namespace

TEST_CASE("a check takes what lies within the bound", "[exercise]") {
    CHECK(first_difference(kSix, std::vector<float>{0, 1.25f, 1.75f, 3, 4, 5}).empty());
}

TEST_CASE("a check names the shape, the first wrong element and how many there are", "[exercise]") {
    CHECK(first_difference(kSix, std::vector<float>{0, 1, 2, 3, 7.5f, 8}) ==
          "out [num_q_heads 2, head_dim 3]: 2 of 6 elements are wrong\n"
          "the first is out[1, 1]: expected 4, got 7.5");
    CHECK(first_difference(kSix, std::vector<float>{0, 1, 2.5f, 3, 4, 5}) ==
          "out [num_q_heads 2, head_dim 3]: 1 of 6 elements is wrong\n"
          "the first is out[0, 2]: expected 2, got 2.5");
}

TEST_CASE("to a check NaN is wrong, and an infinity is right where it is expected", "[exercise]") {
    CHECK_FALSE(first_difference(kSix, std::vector<float>{0, 1, 2, 3, 4, NAN}).empty());
    const Expectation infinite = {
        .name = "lse", .axes = {{"num_q_heads", 1}}, .expected = {-INFINITY}, .bound = 0.25};
    CHECK(first_difference(infinite, std::vector<float>{-INFINITY}).empty());
    CHECK_FALSE(first_difference(infinite, std::vector<float>{INFINITY}).empty());
    CHECK_FALSE(first_difference(infinite, std::vector<float>{-1e30f}).empty());
}
