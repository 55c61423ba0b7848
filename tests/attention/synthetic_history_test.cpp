// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <nanoserve/attention/gather_read.hpp>
#include <nanoserve/attention/paged_attention_reference.hpp>
#include <nanoserve/attention/synthetic_history.hpp>

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <set>
#include <stdexcept>
#include <vector>

using nanoserve::HistorySpec;
using nanoserve::SyntheticHistory;

namespace {

constexpr HistorySpec kSpec = {
    .shape = {.num_q_heads = 4, .num_kv_heads = 2, .head_dim = 8}, .seq_len = 100, .block_size = 4};

}  // namespace

TEST_CASE(
    "a synthetic history lies scattered over the pool and reads the same in place and gathered",
    "[attention]") {
    SyntheticHistory history(kSpec);
    const auto* table = history.params().block_tables;
    CHECK(history.params().seq_lens[0] == 100);
    CHECK(std::set<int>(table, table + 25).size() == 25);
    CHECK_FALSE(std::is_sorted(table, table + 25));

    std::vector<float> gathered(32), fused(32);
    auto params = history.params();
    params.out = gathered.data();
    nanoserve::gather_read(params);
    params.out = fused.data();
    nanoserve::paged_attention_reference(params);
    CHECK(gathered == fused);
    CHECK(std::ranges::any_of(fused, [](float x) { return x != 0.0f; }));
}

TEST_CASE("rotation visits every history, none of which shares a block with another",
          "[attention]") {
    HistorySpec spec = kSpec;
    spec.num_histories = 3;
    SyntheticHistory history(spec);
    std::set<int> blocks;
    const auto* first = history.params().block_tables;
    for (int i = 0; i < 3; ++i) {
        blocks.insert(history.params().block_tables, history.params().block_tables + 25);
        history.rotate();
    }
    CHECK(blocks.size() == 75);
    CHECK(history.params().block_tables == first);
}

TEST_CASE("appending grows the history until the spare blocks are used up", "[attention]") {
    HistorySpec spec = kSpec;
    spec.spare_tokens = 8;
    SyntheticHistory history(spec);
    for (int i = 0; i < 8; ++i) {
        REQUIRE(history.append().ok());
    }
    CHECK(history.params().seq_lens[0] == 108);
    const auto& params = history.params();
    const auto last = params.block_tables[107 / 4];
    CHECK(*params.kv.k_row<float>(last, 107 % 4, 0) == *params.kv.v_row<float>(last, 107 % 4, 0));
    CHECK(*params.kv.k_row<float>(last, 107 % 4, 0) != 0.0f);
    CHECK_FALSE(history.append().ok());
    CHECK(history.params().seq_lens[0] == 108);
}

TEST_CASE("the seed decides values and block order, nothing else does", "[attention]") {
    HistorySpec other = kSpec;
    other.seed = 1;
    SyntheticHistory a(kSpec), b(kSpec), c(other);
    const auto q = [](const SyntheticHistory& history) {
        return static_cast<const float*>(history.params().q)[0];
    };
    CHECK(q(a) == q(b));
    CHECK(q(a) != q(c));
    CHECK_FALSE(
        std::equal(a.params().block_tables, a.params().block_tables + 25, c.params().block_tables));
}

TEST_CASE("impossible histories are refused", "[attention]") {
    HistorySpec spec = kSpec;
    spec.seq_len = -1;
    CHECK_THROWS_AS(SyntheticHistory(spec), std::invalid_argument);
    spec = kSpec;
    spec.block_size = 0;
    CHECK_THROWS_AS(SyntheticHistory(spec), std::invalid_argument);
    CHECK_THROWS_AS(nanoserve::histories_in(1, spec), std::invalid_argument);
    spec = kSpec;
    spec.num_histories = std::int64_t{1} << 62;
    CHECK_THROWS_AS(SyntheticHistory(spec), std::invalid_argument);
    spec = kSpec;
    spec.spare_tokens = -5;
    CHECK_THROWS_AS(SyntheticHistory(spec), std::invalid_argument);
    spec = kSpec;
    spec.dtype = static_cast<nanoserve::DType>(9);
    CHECK_THROWS_AS(SyntheticHistory(spec), std::invalid_argument);
    CHECK_THROWS_AS(nanoserve::histories_in(1, spec), std::invalid_argument);
}

TEST_CASE("as many histories as fill a pool, however large it or a history is", "[attention]") {
    HistorySpec spec = kSpec;
    CHECK(nanoserve::histories_in(1, spec) == 1);
    CHECK(nanoserve::histories_in(2 * 100 * 2 * 2 * 8 * 4 + 1, spec) == 3);
    CHECK(nanoserve::histories_in(INT64_MAX, spec) == INT64_MAX / (100 * 2 * 2 * 8 * 4) + 1);
    spec.seq_len = 0;
    CHECK(nanoserve::histories_in(INT64_MAX, spec) == 1);
    spec = {.shape = {.num_q_heads = 32768, .num_kv_heads = 32768, .head_dim = 32768},
            .seq_len = INT32_MAX};  // 2^64 bytes, which as a 64-bit number are none
    CHECK_THROWS_AS(nanoserve::histories_in(INT64_MAX, spec), std::invalid_argument);
    spec.seq_len = 1 << 18;  // 2^48 elements each of K and V, 2^51 bytes
    CHECK(nanoserve::histories_in(INT64_MAX, spec) == 1 << 12);
}
