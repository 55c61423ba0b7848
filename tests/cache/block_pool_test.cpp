// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <nanoserve/cache/block_pool.hpp>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>

#include <set>
#include <stdexcept>

using Catch::Matchers::Message;
using nanoserve::BlockId;
using nanoserve::BlockPool;

TEST_CASE("a pool hands out every block once and then answers that none is free", "[cache]") {
    BlockPool pool(3);
    std::set<BlockId> ids;
    for (int i = 0; i < 3; ++i) {
        ids.insert(pool.allocate().value());
    }
    CHECK(ids == std::set<BlockId>{0, 1, 2});
    CHECK(pool.num_free() == 0);
    CHECK_FALSE(pool.allocate().has_value());
    CHECK(pool.num_used() == 3);
}

TEST_CASE("a block returns to the pool with its last holder", "[cache]") {
    BlockPool pool(1);
    const BlockId id = pool.allocate().value();
    pool.retain(id);
    CHECK(pool.ref_count(id) == 2);
    pool.release(id);
    CHECK(pool.num_free() == 0);
    pool.release(id);
    CHECK(pool.num_free() == 1);
    CHECK(pool.ref_count(id) == 0);
}

TEST_CASE("OPEN-11: releasing a block twice is an error and puts nothing on the free list",
          "[cache]") {
    BlockPool pool(2);
    const BlockId id = pool.allocate().value();
    pool.release(id);
    CHECK_THROWS_MATCHES(pool.release(id), std::invalid_argument,
                         Message("block 0 is not in use (freed twice?)"));
    CHECK_THROWS_AS(pool.retain(id), std::invalid_argument);
    CHECK(pool.num_free() == 2);
    CHECK(pool.allocate() != pool.allocate());
}

TEST_CASE("an id outside the pool is refused with the size of the pool", "[cache]") {
    BlockPool pool(8);
    CHECK_THROWS_MATCHES(pool.release(8), std::invalid_argument,
                         Message("block id is 8; the pool has 8 blocks"));
    CHECK_THROWS_MATCHES(pool.retain(-1), std::invalid_argument,
                         Message("block id is -1; the pool has 8 blocks"));
    CHECK_THROWS_MATCHES(BlockPool(-1), std::invalid_argument,
                         Message("num_blocks is -1; it must not be negative"));
}

TEST_CASE("an empty pool is a pool", "[cache]") {
    BlockPool pool(0);
    CHECK(pool.num_blocks() == 0);
    CHECK_FALSE(pool.allocate().has_value());
}
