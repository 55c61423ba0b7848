// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// What is left when memory runs out outside the walks of the cache, which have the cache's writes.
#include "reliability/failing_new.hpp"

#include <nanoserve/cache/block_pool.hpp>

#include <catch2/catch_test_macros.hpp>

#include <new>

using nanoserve::BlockId;
using nanoserve::BlockPool;
using nanoserve::testing::FailingNew;

TEST_CASE("a copied pool keeps its blocks when a release finds no memory", "[reliability]") {
    BlockPool original(2);
    const BlockId id = original.allocate().value();
    REQUIRE(original.allocate());
    BlockPool copy = original;  // its free list is empty, and has no room
    const auto release_without_memory = [&] {
        const FailingNew failing(0);
        copy.release(id);
    };
    REQUIRE_THROWS_AS(release_without_memory(), std::bad_alloc);
    CHECK(copy.ref_count(id) == 1);
    CHECK(copy.num_free() == 0);
    copy.release(id);
    CHECK(copy.allocate() == id);
}
