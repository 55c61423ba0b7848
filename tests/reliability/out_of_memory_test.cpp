// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// What is left when memory runs out: of all but the writes of the cache, which the walks have.
#include "reliability/failing_new.hpp"
#include "support/paged_case.hpp"

#include <nanoserve/attention/gather_read.hpp>
#include <nanoserve/attention/paged_attention_reference.hpp>
#include <nanoserve/attention/streaming_read.hpp>
#include <nanoserve/attention/synthetic_history.hpp>
#include <nanoserve/cache/block_pool.hpp>
#include <nanoserve/cache/paged_kv_cache.hpp>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <new>
#include <vector>

using nanoserve::BlockId;
using nanoserve::BlockPool;
using nanoserve::PagedAttentionParams;
using nanoserve::ReadContext;
using nanoserve::testing::FailingNew;
using nanoserve::testing::PagedCase;

namespace {

// Whether the operation gets by with `num_good` allocations, the next one failing or all that
// follow. It may end with its result or with std::bad_alloc; anything else fails the test.
template <class Operation>
bool works_with(int num_good, int num_bad, Operation operation) {
    try {
        const FailingNew failing(num_good, num_bad);
        operation();
        return true;
    } catch (const std::bad_alloc&) {
        return false;
    }
}

// How many allocations the operation makes; each of them fails in turn.
template <class Operation>
int fail_each_allocation(int num_bad, Operation operation) {
    int num_good = 0;
    while (!works_with(num_good, num_bad, operation)) {
        ++num_good;
    }
    return num_good;
}

struct NamedRead {
    const char* name;
    void (*read)(const PagedAttentionParams&, ReadContext&);
};

constexpr std::array kReads = {
    NamedRead{"gather_read", nanoserve::gather_read},
    NamedRead{"paged_attention_reference", nanoserve::paged_attention_reference},
    NamedRead{"streaming_read",
              [](const auto& p, auto& context) { nanoserve::streaming_read(p, 1, context); }},
    NamedRead{"streaming_read in pieces",
              [](const auto& p, auto& context) { nanoserve::streaming_read(p, 3, context); }},
};

// Whether each row of `out` is all of `before` or all of `after`.
bool rows_are_whole(const PagedAttentionParams& p, const std::vector<std::byte>& out,
                    const std::vector<std::byte>& before, const std::vector<std::byte>& after) {
    const auto row = static_cast<std::size_t>(p.kv.layout.head_dim * bytes_of(p.io_dtype));
    for (std::size_t i = 0; i < out.size(); i += row) {
        const auto is_row_of = [&](const std::vector<std::byte>& whole) {
            return std::equal(&out[i], &out[i] + row, &whole[i]);
        };
        if (!is_row_of(before) && !is_row_of(after)) {
            return false;
        }
    }
    return true;
}

}  // namespace

TEST_CASE("a copied pool keeps its blocks when a release finds no memory", "[reliability]") {
    BlockPool original(2);
    const BlockId id = original.allocate().value();
    REQUIRE(original.allocate());
    BlockPool copy = original;  // its free list is empty, and has no room
    REQUIRE_FALSE(works_with(0, 1, [&] { copy.release(id); }));
    CHECK(copy.ref_count(id) == 1);
    CHECK(copy.num_free() == 0);
    copy.release(id);
    CHECK(copy.allocate() == id);
}

TEST_CASE("a cache that finds no memory throws std::bad_alloc, whichever allocation fails",
          "[reliability]") {
    const auto layout =
        nanoserve::nhd_layout({.num_blocks = 4, .block_size = 2, .num_kv_heads = 1, .head_dim = 2});
    const int num_bad = GENERATE(1, FailingNew::kForever);
    const int num_allocations =
        fail_each_allocation(num_bad, [&] { const nanoserve::PagedKVCache cache(3, layout); });
    CHECK(num_allocations == 4);  // the pools, the free list, the counts of holders, the scales
}

TEST_CASE("a synthetic history that finds no memory throws std::bad_alloc", "[reliability]") {
    const nanoserve::HistorySpec spec = {
        .shape = {.num_q_heads = 4, .num_kv_heads = 2, .head_dim = 8},
        .seq_len = 10,
        .block_size = 4,
        .num_histories = 2};
    const int num_bad = GENERATE(1, FailingNew::kForever);
    const int num_allocations =
        fail_each_allocation(num_bad, [&] { const nanoserve::SyntheticHistory history(spec); });
    CHECK(num_allocations > 10);  // the cache's, the rows', those of every sequence and table
}

TEST_CASE("a read that finds no memory throws, leaves whole rows and can be tried again",
          "[reliability]") {
    const auto [name, read] = GENERATE(from_range(kReads));
    CAPTURE(name);
    const int num_bad = GENERATE(1, FailingNew::kForever);
    PagedCase test({.seq_lens = {9, 70}});
    ReadContext fine;
    read(test.params(), fine);
    const auto expected = test.out();
    int num_good = 0;
    for (;; ++num_good) {
        CAPTURE(num_good);
        ReadContext context;
        const PagedAttentionParams params = test.params();
        const auto poisoned = test.out();
        if (works_with(num_good, num_bad, [&] { read(params, context); })) {
            break;
        }
        REQUIRE(rows_are_whole(params, test.out(), poisoned, expected));
        read(params, context);
        REQUIRE(test.out() == expected);
    }
    CHECK(num_good > 5);
}

TEST_CASE("a context that finds no memory throws std::bad_alloc and ends the threads it has",
          "[reliability]") {
    const int num_bad = GENERATE(1, FailingNew::kForever);
    const int num_allocations =
        fail_each_allocation(num_bad, [] { const ReadContext context({.num_threads = 3}); });
    CHECK(num_allocations > 3);
}
