// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include "support/between_elements.hpp"

#include <nanoserve/attention/paged_attention_reference.hpp>
#include <nanoserve/cache/paged_kv_cache.hpp>
#include <nanoserve/model/require.hpp>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>

#include <limits>
#include <stdexcept>
#include <vector>

using Catch::Matchers::Message;
using nanoserve::BlockId;
using nanoserve::join_text;
using nanoserve::KVRows;
using nanoserve::PagedKVCache;
using nanoserve::SeqId;

namespace {

// One head of one element: a token's V row is a number, and with q = 0 a read gives the mean of
// them.
PagedKVCache tiny_cache(std::int32_t num_blocks, std::int32_t block_size,
                        std::int32_t num_layers = 1) {
    return PagedKVCache(num_layers, nanoserve::nhd_layout({.num_blocks = num_blocks,
                                                           .block_size = block_size,
                                                           .num_kv_heads = 1,
                                                           .head_dim = 1}));
}

nanoserve::WriteResult write(PagedKVCache& cache, SeqId seq, const std::vector<float>& values,
                             std::int32_t layer = 0) {
    return cache.prefill(seq, layer, {values.data(), values.data(), std::ssize(values)});
}

float mean_read(const PagedKVCache& cache, SeqId seq, std::int32_t layer = 0) {
    const float q = 0.0f;
    float out = std::numeric_limits<float>::quiet_NaN();
    nanoserve::PagedAttentionParams params{
        .q = &q, .out = &out, .num_q_heads = 1, .kv = cache.view(layer)};
    const auto tables = cache.batch(std::vector{seq}, layer);
    nanoserve::set_block_tables(params, tables);
    nanoserve::paged_attention_reference(params);
    return out;
}

}  // namespace

TEST_CASE("prefill and append put tokens where a read finds them", "[cache]") {
    PagedKVCache cache = tiny_cache(4, 4);
    const SeqId seq = cache.add_sequence();
    REQUIRE(write(cache, seq, {0, 1, 2, 3, 4}));
    const float next = 5.0f;
    REQUIRE(cache.append(seq, 0, &next, &next));
    CHECK(cache.seq_len(seq) == 6);
    CHECK(cache.block_table(seq).size() == 2);
    CHECK(mean_read(cache, seq) == 2.5f);
}

TEST_CASE("OPEN-12: a new block is taken at the block boundary and not before", "[cache]") {
    PagedKVCache cache = tiny_cache(1, 4);
    const SeqId seq = cache.add_sequence();
    REQUIRE(write(cache, seq, {1, 1, 1}));
    CHECK(cache.can_append(seq, 0, 1));
    CHECK_FALSE(cache.can_append(seq, 0, 2));
    CHECK(write(cache, seq, {1}));
    CHECK_FALSE(cache.can_append(seq, 0, 1));
}

TEST_CASE("OPEN-10: a write that runs out of blocks changes nothing and says what it needed",
          "[cache]") {
    PagedKVCache cache = tiny_cache(4, 4);
    const SeqId a = cache.add_sequence();
    const SeqId b = cache.add_sequence();
    REQUIRE(write(cache, a, {0, 1, 2, 3, 4, 5, 6, 7, 8}));
    const auto refused = write(cache, b, {1, 1, 1, 1, 1, 1});
    CHECK_FALSE(refused.ok());
    CHECK(nanoserve::to_string(refused) == "out of blocks: the write needs 2, free are 1");
    CHECK(cache.pool().num_free() == 1);
    CHECK(cache.seq_len(b) == 0);
    CHECK(cache.block_table(b).empty());
    CHECK(mean_read(cache, a) == 4.0f);

    REQUIRE(write(cache, b, {1, 1, 1, 1}));
    CHECK(cache.pool().num_free() == 0);
    for (int i = 0; i < 3; ++i) {
        REQUIRE(write(cache, a, {4}));
    }
    CHECK(cache.seq_len(a) == 12);
    CHECK_FALSE(write(cache, a, {4}).ok());
    CHECK(cache.seq_len(a) == 12);
    CHECK(mean_read(cache, a) == 4.0f);
}

TEST_CASE("OPEN-11: forks share their history until one of them writes into it", "[cache]") {
    PagedKVCache cache = tiny_cache(4, 4);
    const SeqId a = cache.add_sequence();
    REQUIRE(write(cache, a, {0, 1, 2, 3, 4}));
    const SeqId b = cache.fork(a);
    CHECK(cache.pool().num_used() == 2);
    REQUIRE(write(cache, b, {50}));
    CHECK(cache.pool().num_used() == 3);  // the full first block is still shared
    CHECK(cache.block_table(a)[0] == cache.block_table(b)[0]);
    CHECK(cache.block_table(a)[1] != cache.block_table(b)[1]);
    CHECK(mean_read(cache, a) == 2.0f);
    CHECK(mean_read(cache, b) == 10.0f);
    cache.free(a);
    CHECK(mean_read(cache, b) == 10.0f);
    CHECK(cache.pool().num_used() == 2);
    REQUIRE(write(cache, b, {10}));  // its own block: nothing to copy
    CHECK(cache.pool().num_used() == 2);
}

TEST_CASE("OPEN-10: copy-on-write that finds no block leaves both forks as they were", "[cache]") {
    PagedKVCache cache = tiny_cache(1, 4);
    const SeqId a = cache.add_sequence();
    REQUIRE(write(cache, a, {2, 4}));
    const SeqId b = cache.fork(a);
    CHECK_FALSE(cache.can_append(b, 0, 1));
    CHECK_FALSE(write(cache, b, {9}).ok());
    CHECK(cache.seq_len(b) == 2);
    CHECK(mean_read(cache, a) == 3.0f);
    CHECK(mean_read(cache, b) == 3.0f);
    cache.free(a);
    CHECK(write(cache, b, {9}));
    CHECK(mean_read(cache, b) == 5.0f);
}

TEST_CASE("OPEN-11: freeing a sequence twice is an error and its id stays dead", "[cache]") {
    PagedKVCache cache = tiny_cache(2, 4);
    const SeqId a = cache.add_sequence();
    REQUIRE(write(cache, a, {1}));
    cache.free(a);
    CHECK_THROWS_MATCHES(
        cache.free(a), std::invalid_argument,
        Message(join_text("sequence ", static_cast<std::int64_t>(a),
                          " is not in the cache (freed already, or another cache's?)")));
    CHECK(cache.pool().num_free() == 2);
    const SeqId b = cache.add_sequence();
    CHECK(b != a);
    CHECK_THROWS_AS(write(cache, a, {1}), std::invalid_argument);
    CHECK_THROWS_AS(cache.fork(a), std::invalid_argument);
}

TEST_CASE("OPEN-11: an id of another cache, or of one that was assigned over, is noticed",
          "[cache]") {
    PagedKVCache a = tiny_cache(4, 4);
    PagedKVCache b = tiny_cache(4, 4);
    const SeqId of_a = a.add_sequence();
    const SeqId of_b = b.add_sequence();
    CHECK_THROWS_AS(write(b, of_a, {1}), std::invalid_argument);
    CHECK(b.seq_len(of_b) == 0);

    a = tiny_cache(4, 4);
    const SeqId of_new_a = a.add_sequence();
    CHECK_THROWS_AS(write(a, of_a, {1}), std::invalid_argument);
    CHECK(a.seq_len(of_new_a) == 0);
}

TEST_CASE("OPEN-11: what a freed sequence left behind is not seen by the next owner", "[cache]") {
    PagedKVCache cache = tiny_cache(1, 16);
    const SeqId a = cache.add_sequence();
    REQUIRE(write(cache, a, std::vector<float>(16, 1000.0f)));
    cache.free(a);
    const SeqId b = cache.add_sequence();
    REQUIRE(write(cache, b, {1}));
    CHECK(mean_read(cache, b) == 1.0f);
}

TEST_CASE("OPEN-11: a thousand rounds of prefill and free lose no block", "[cache]") {
    PagedKVCache cache = tiny_cache(12, 4);
    for (int round = 0; round < 1000; ++round) {
        const SeqId a = cache.add_sequence();
        REQUIRE(
            write(cache, a, std::vector<float>(static_cast<std::size_t>(1 + round % 40), 1.0f)));
        const SeqId b = cache.fork(a);
        REQUIRE(write(cache, b, {1}));
        cache.free(round % 2 == 0 ? a : b);
        cache.free(round % 2 == 0 ? b : a);
        REQUIRE(cache.pool().num_free() == 12);
    }
}

TEST_CASE("layers share the block table and keep their own lengths and contents", "[cache]") {
    PagedKVCache cache = tiny_cache(4, 2, 3);
    const SeqId seq = cache.add_sequence();
    REQUIRE(write(cache, seq, {1, 1, 1}, 0));
    CHECK(cache.pool().num_used() == 2);
    CHECK(cache.seq_len(seq, 1) == 0);
    REQUIRE(write(cache, seq, {2, 2, 2}, 1));
    REQUIRE(write(cache, seq, {3, 3, 3}, 2));
    CHECK(cache.pool().num_used() == 2);
    CHECK(mean_read(cache, seq, 0) == 1.0f);
    CHECK(mean_read(cache, seq, 1) == 2.0f);
    CHECK(mean_read(cache, seq, 2) == 3.0f);
}

TEST_CASE("copy-on-write copies the block of every layer", "[cache]") {
    PagedKVCache cache = tiny_cache(4, 4, 2);
    const SeqId a = cache.add_sequence();
    REQUIRE(write(cache, a, {1, 2}, 0));
    REQUIRE(write(cache, a, {10, 20}, 1));
    const SeqId b = cache.fork(a);
    REQUIRE(write(cache, b, {6}, 0));
    CHECK(mean_read(cache, b, 1) == 15.0f);
    REQUIRE(write(cache, b, {60}, 1));
    CHECK(mean_read(cache, b, 0) == 3.0f);
    CHECK(mean_read(cache, b, 1) == 30.0f);
    CHECK(mean_read(cache, a, 0) == 1.5f);
    CHECK(mean_read(cache, a, 1) == 15.0f);
}

TEST_CASE("OPEN-12: a prefill of no tokens succeeds, takes no block and reads as empty",
          "[cache]") {
    PagedKVCache cache = tiny_cache(1, 4);
    const SeqId seq = cache.add_sequence();
    CHECK(cache.prefill(seq, 0, {}));
    CHECK(cache.pool().num_free() == 1);
    CHECK(cache.seq_len(seq) == 0);
    CHECK(mean_read(cache, seq) == 0.0f);
}

TEST_CASE("OPEN-12: bad arguments of a write are named and change nothing", "[cache]") {
    PagedKVCache cache = tiny_cache(2, 4);
    const SeqId seq = cache.add_sequence();
    const float x = 0.0f;
    CHECK_THROWS_MATCHES(cache.prefill(seq, 0, {&x, &x, -5}), std::invalid_argument,
                         Message("num_tokens is -5; it must not be negative"));
    CHECK_THROWS_MATCHES(
        cache.prefill(seq, 0, {&x, &x, std::int64_t{1} << 40}), std::invalid_argument,
        Message("num_tokens is 1099511627776; the sequence holds 0 and can hold 2147483647"));
    CHECK_THROWS_MATCHES(cache.prefill(seq, 0, {&x, nullptr, 1}), std::invalid_argument,
                         Message("k or v is null for 1 tokens"));
    CHECK_THROWS_MATCHES(cache.prefill(seq, 1, {&x, &x, 1}), std::invalid_argument,
                         Message("layer is 1; the cache has 1"));
    CHECK_THROWS_MATCHES(cache.prefill(seq, -1, {&x, &x, 1}), std::invalid_argument,
                         Message("layer is -1; the cache has 1"));
    const float* const between = nanoserve::testing::between_elements(&x);
    CHECK_THROWS_MATCHES(cache.append(seq, 0, between, &x), std::invalid_argument,
                         Message("k is not a multiple of 4 bytes"));
    CHECK_THROWS_MATCHES(cache.append(seq, 0, &x, between), std::invalid_argument,
                         Message("v is not a multiple of 4 bytes"));
    CHECK_FALSE(cache.prefill(seq, 0, {&x, &x, 1000000}).ok());
    CHECK(cache.pool().num_free() == 2);
    CHECK(cache.seq_len(seq) == 0);
}

TEST_CASE("OPEN-07: a pool too large for any machine is refused with its size, not wrapped",
          "[cache]") {
    const auto layout =
        nanoserve::nhd_layout({.num_blocks = std::numeric_limits<std::int32_t>::max(),
                               .block_size = 1 << 20,
                               .num_kv_heads = 1024,
                               .head_dim = 256});
    CHECK_THROWS_AS(PagedKVCache(64, layout), std::invalid_argument);
    CHECK_THROWS_MATCHES(tiny_cache(4, 4, 0), std::invalid_argument,
                         Message("num_layers is 0; it must be at least 1"));
}

TEST_CASE("OPEN-11: a moved-from cache holds nothing and can be destroyed", "[cache]") {
    PagedKVCache cache = tiny_cache(2, 4);
    const SeqId seq = cache.add_sequence();
    REQUIRE(write(cache, seq, {3}));
    PagedKVCache moved = std::move(cache);
    CHECK(mean_read(moved, seq) == 3.0f);
    CHECK(cache.num_seqs() == 0);  // NOLINT(bugprone-use-after-move): this is what is tested
    static_assert(!std::is_copy_constructible_v<PagedKVCache>);
}

TEST_CASE("a cache that was moved from, or onto itself, has no layer and says so", "[cache]") {
    const bool onto_itself = GENERATE(false, true);
    PagedKVCache cache = tiny_cache(2, 4);
    PagedKVCache taken = tiny_cache(1, 1);
    PagedKVCache& target = onto_itself ? cache : taken;
    target = std::move(cache);
    // NOLINTBEGIN(bugprone-use-after-move): this is what is tested
    CHECK(cache.num_layers() == 0);
    const SeqId seq = cache.add_sequence();
    const auto refused = Message("layer is 0; the cache has 0");
    CHECK_THROWS_MATCHES(cache.view(), std::invalid_argument, refused);
    CHECK_THROWS_MATCHES(cache.prefill(seq, 0, {}), std::invalid_argument, refused);
    CHECK_THROWS_MATCHES(write(cache, seq, {1}), std::invalid_argument, refused);
    CHECK_THROWS_MATCHES(cache.can_append(seq, 0, 0), std::invalid_argument, refused);
    CHECK_THROWS_MATCHES(cache.seq_len(seq), std::invalid_argument, refused);
    CHECK_THROWS_MATCHES(cache.batch(std::vector{seq}), std::invalid_argument, refused);
    CHECK_THROWS_MATCHES(cache.set_scales(0, {}), std::invalid_argument, refused);
    cache.free(cache.fork(seq));
    // NOLINTEND(bugprone-use-after-move)
    cache = tiny_cache(2, 4);
    CHECK(write(cache, cache.add_sequence(), {1}));
}

TEST_CASE("batch refuses a layer that there is not, for no sequences as well", "[cache]") {
    const PagedKVCache cache = tiny_cache(2, 4);
    CHECK_THROWS_MATCHES(cache.batch({}, 99), std::invalid_argument,
                         Message("layer is 99; the cache has 1"));
    CHECK_THROWS_MATCHES(cache.batch({}, -7), std::invalid_argument,
                         Message("layer is -7; the cache has 1"));
    CHECK(cache.batch({}).num_seqs() == 0);
}

TEST_CASE("batch gives each sequence a row of ids, padded with no block", "[cache]") {
    PagedKVCache cache = tiny_cache(4, 2);
    const SeqId a = cache.add_sequence();
    const SeqId b = cache.add_sequence();
    REQUIRE(write(cache, a, {1}));
    REQUIRE(write(cache, b, {1, 2, 3}));
    const auto tables = cache.batch(std::vector{a, b});
    CHECK(tables.max_blocks_per_seq == 2);
    CHECK(tables.seq_lens == std::vector<std::int32_t>{1, 3});
    CHECK(tables.block_tables == std::vector<BlockId>{0, -1, 1, 2});
}

TEST_CASE("what a sequence holds counts against what it can hold", "[cache]") {
    PagedKVCache cache = tiny_cache(2, 4);
    const SeqId seq = cache.add_sequence();
    REQUIRE(write(cache, seq, {1, 1, 1}));
    const float x = 0.0f;
    CHECK_THROWS_MATCHES(
        cache.prefill(seq, 0, {&x, &x, 2147483645}), std::invalid_argument,
        Message("num_tokens is 2147483645; the sequence holds 3 and can hold 2147483647"));
}

TEST_CASE("OPEN-12: a question for room is refused where the write would be", "[cache]") {
    PagedKVCache cache = tiny_cache(2, 4);
    const SeqId seq = cache.add_sequence();
    REQUIRE(write(cache, seq, {1, 1, 1}));
    const auto refused = [&](std::int32_t layer, std::int64_t num_tokens, const char* message) {
        CHECK_THROWS_MATCHES(cache.can_append(seq, layer, num_tokens), std::invalid_argument,
                             Message(message));
    };
    refused(0, -1, "num_tokens is -1; it must not be negative");
    refused(0, 2147483645,
            "num_tokens is 2147483645; the sequence holds 3 and can hold 2147483647");
    refused(0, std::numeric_limits<std::int64_t>::max(),
            "num_tokens is 9223372036854775807; the sequence holds 3 and can hold 2147483647");
    refused(1, 1, "layer is 1; the cache has 1");
    refused(-1, 1, "layer is -1; the cache has 1");
    CHECK_FALSE(cache.can_append(seq, 0, 2147483644));
    CHECK(cache.can_append(seq, 0, 0));
    CHECK(cache.can_append(seq, 0, 5));  // one beside the three, and a block
    CHECK_FALSE(cache.can_append(seq, 0, 6));
    cache.free(seq);
    CHECK_THROWS_AS(cache.can_append(seq, 0, 1), std::invalid_argument);
}

TEST_CASE("a prefill of no tokens into a shared block copies nothing", "[cache]") {
    PagedKVCache cache = tiny_cache(4, 4);
    const SeqId a = cache.add_sequence();
    REQUIRE(write(cache, a, {1, 2}));
    const SeqId b = cache.fork(a);
    REQUIRE(cache.prefill(b, 0, {}));
    CHECK(cache.pool().num_used() == 1);
}

TEST_CASE("layers and forks of a 16-bit cache keep apart", "[cache]") {
    PagedKVCache cache(3, nanoserve::hnd_layout({.dtype = nanoserve::DType::bf16,
                                                 .num_blocks = 4,
                                                 .block_size = 2,
                                                 .num_kv_heads = 1,
                                                 .head_dim = 1}));
    const SeqId a = cache.add_sequence();
    for (const int layer : {0, 1, 2}) {
        const auto value = static_cast<float>(layer + 1);
        REQUIRE(write(cache, a, {value, value, value}, layer));
    }
    const SeqId b = cache.fork(a);
    REQUIRE(write(cache, b, {9}, 0));
    for (const int layer : {0, 1, 2}) {
        CHECK(mean_read(cache, a, layer) == static_cast<float>(layer + 1));
    }
    CHECK(mean_read(cache, b, 0) == 3.0f);
    CHECK(mean_read(cache, b, 1) == 2.0f);
    CHECK(mean_read(cache, b, 2) == 3.0f);
}

TEST_CASE("a new cache holds zeros", "[cache]") {
    {
        const PagedKVCache dirty = [] {
            PagedKVCache cache = tiny_cache(8, 16);
            const SeqId seq = cache.add_sequence();
            REQUIRE(write(cache, seq, std::vector<float>(128, 5.0f)));
            return cache;
        }();
    }
    const PagedKVCache cache = tiny_cache(8, 16);
    for (int slot = 0; slot < 128; ++slot) {
        REQUIRE(*cache.view().k_row<float>(slot / 16, slot % 16, 0) == 0.0f);
        REQUIRE(*cache.view().v_row<float>(slot / 16, slot % 16, 0) == 0.0f);
    }
}
