// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <nanoserve/report/block_picture.hpp>

#include <catch2/catch_test_macros.hpp>

#include <vector>

TEST_CASE("a block picture shows tables, tokens and the holders of the pool", "[report]") {
    nanoserve::PagedKVCache cache(
        1, nanoserve::nhd_layout(
               {.num_blocks = 5, .block_size = 4, .num_kv_heads = 1, .head_dim = 1}));
    const std::vector<float> rows(11, 1.0f);
    const auto a = cache.add_sequence();
    REQUIRE(cache.prefill(a, 0, {rows.data(), rows.data(), 4}));
    const auto b = cache.fork(a);
    REQUIRE(cache.prefill(b, 0, {rows.data(), rows.data(), 1}));
    REQUIRE(cache.prefill(a, 0, {rows.data(), rows.data(), 7}));
    CHECK(nanoserve::report::block_picture(cache, std::vector{a, b}) ==
          "A  logical    0            1            2\n"
          "   physical   0            2            3\n"
          "   tokens      0  1  2  3   4  5  6  7   8  9 10  .\n"
          "\n"
          "B  logical    0        1\n"
          "   physical   0        1\n"
          "   tokens     0 1 2 3  4 . . .\n"
          "\n"
          "pool  block   0      1   2   3   4\n"
          "      holder  A0,B0  B1  A1  A2  .\n");
}

TEST_CASE("an empty sequence and an empty pool can be drawn", "[report]") {
    nanoserve::PagedKVCache cache(
        1, nanoserve::nhd_layout(
               {.num_blocks = 0, .block_size = 4, .num_kv_heads = 1, .head_dim = 1}));
    const auto a = cache.add_sequence();
    CHECK(nanoserve::report::block_picture(cache, std::vector{a}) ==
          "A  logical\n   physical\n   tokens\n\npool  block\n      holder\n");
}
