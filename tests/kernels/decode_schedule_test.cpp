// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// The schedule of a balanced launch, walked on the CPU: every tile of every row once, in equal
// parts.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>
#include <kernels/decode/schedule.hpp>

#include <algorithm>
#include <cstddef>
#include <map>
#include <numeric>
#include <random>
#include <set>
#include <vector>

using namespace nanoserve;

namespace {

struct Batch {
    std::vector<std::int32_t> seq_tiles;
    std::int32_t num_kv_heads = 8;
    std::int32_t blocks_per_seq = 8;
    std::int32_t num_resident = 132;  // thread blocks on the GPU at once

    [[nodiscard]] std::int32_t num_seqs() const {
        return static_cast<std::int32_t>(seq_tiles.size());
    }
};

Schedule schedule_of(const Batch& batch) {
    Schedule schedule;
    schedule.own_limit =
        own_limit(std::accumulate(batch.seq_tiles.begin(), batch.seq_tiles.end(), 0),
                  batch.num_seqs(), batch.blocks_per_seq, batch.num_resident);
    for (const std::int32_t tiles : batch.seq_tiles) {
        schedule.tail_tiles += batch.num_kv_heads * tail_tiles(tiles, schedule.own_limit);
    }
    const auto full = static_cast<std::int32_t>(std::ranges::count_if(
        batch.seq_tiles, [&](std::int32_t tiles) { return tiles >= schedule.own_limit; }));
    schedule.helper_tiles =
        helper_tiles(schedule.tail_tiles,
                     num_ranges(full * batch.blocks_per_seq,
                                batch.num_seqs() * batch.blocks_per_seq, batch.num_resident));
    return schedule;
}

// The tails of all rows, in the order in which they follow one another.
std::vector<RowTail> tails_of(const Batch& batch, const Schedule& schedule) {
    std::vector<RowTail> tails;
    RowTail next;
    for (const std::int32_t tiles : batch.seq_tiles) {
        for (std::int32_t head = 0; head < batch.num_kv_heads; ++head) {
            next.num_tiles = tail_tiles(tiles, schedule.own_limit);
            tails.push_back(next);
            next.begin += next.num_tiles;
            next.rank += next.num_tiles > 0 ? 1 : 0;
        }
    }
    return tails;
}

Batch random_batch(std::uint32_t seed) {
    std::mt19937 random(seed);
    const auto pick = [&](int low, int high) {
        return std::uniform_int_distribution<int>(low, high)(random);
    };
    Batch batch{.seq_tiles = {},
                .num_kv_heads = pick(1, 9),
                .blocks_per_seq = 1,
                .num_resident = pick(1, 264)};
    const bool by_pairs = batch.num_kv_heads % 2 == 0 && pick(0, 1) == 1;  // of KV heads
    batch.blocks_per_seq = batch.num_kv_heads / (by_pairs ? 2 : 1);
    for (int i = pick(1, 90); i > 0; --i) {
        batch.seq_tiles.push_back(pick(0, 9) == 0 ? pick(0, 5000) : pick(0, 300));
    }
    return batch;
}

}  // namespace

TEST_CASE("equal histories that fill the SMs have no tails", "[decode]") {
    for (const std::int32_t num_seqs : {16, 64, 256}) {
        const Batch batch{.seq_tiles =
                              std::vector<std::int32_t>(static_cast<std::size_t>(num_seqs), 1024)};
        CHECK(schedule_of(batch).tail_tiles == 0);
    }
}

TEST_CASE("short histories have no tails, however few there are", "[decode]") {
    const Batch batch{.seq_tiles = {kSmallestOwnLimit, 3 * kSmallestOwnLimit / 2, 0}};
    const Schedule schedule = schedule_of(batch);
    CHECK(schedule.own_limit == kSmallestOwnLimit);
    CHECK(schedule.tail_tiles == 0);
}

TEST_CASE("a tail begins where it is half as long as the rest", "[decode]") {
    CHECK(tail_tiles(150, 100) == 0);
    CHECK(tail_tiles(151, 100) == 51);
    CHECK(tail_tiles(99, 100) == 0);
    CHECK(tail_tiles(0, 100) == 0);
}

TEST_CASE("one long history among short ones is spread over all SMs", "[decode]") {
    Batch batch{.seq_tiles = std::vector<std::int32_t>(64, 64), .blocks_per_seq = 2};
    batch.seq_tiles[10] = 4096;
    const Schedule schedule = schedule_of(batch);
    const std::int32_t all = 8 * (63 * 64 + 4096);
    // No thread block works on much more than an equal part of all tiles; a row's own thread block
    // has 8 / blocks_per_seq KV heads.
    CHECK(schedule.own_limit * 4 <= all / 132 + 1);
    CHECK(schedule.helper_tiles <= all / 132);
    CHECK(schedule.tail_tiles == 8 * (4096 - schedule.own_limit));
}

TEST_CASE("few rows and their helpers are on the GPU together", "[decode]") {
    const auto num_seqs = static_cast<std::size_t>(GENERATE(1, 2, 5, 8, 10));
    const Batch batch{.seq_tiles = std::vector<std::int32_t>(num_seqs, 4096)};
    const Schedule schedule = schedule_of(batch);
    const std::int32_t rows = batch.num_seqs() * 8;
    const std::int32_t ranges =
        (schedule.tail_tiles + schedule.helper_tiles - 1) / schedule.helper_tiles;
    CAPTURE(rows, ranges);
    CHECK(rows + ranges <= 132);
    CHECK(schedule.helper_tiles <= schedule.own_limit + 3);  // the limit is rounded down
}

TEST_CASE("helpers are as many as the long rows leave room for", "[decode]") {
    CHECK(num_ranges(8, 64, 132) == 124);
    CHECK(num_ranges(64, 64, 132) == 68);
    CHECK(num_ranges(131, 131, 132) == 1);
    CHECK(num_ranges(132, 132, 132) == 1);
    CHECK(num_ranges(8, 133, 132) == 132);
}

TEST_CASE("every tile of every row is read once", "[decode]") {
    const Batch batch = random_batch(static_cast<std::uint32_t>(GENERATE(range(0, 200))));
    const Schedule schedule = schedule_of(batch);
    const std::vector<RowTail> tails = tails_of(batch, schedule);
    std::vector<std::int32_t> read_to;  // of each row, in tiles
    std::vector<std::int32_t> pieces(tails.size(), 0);
    std::set<std::int32_t> slots;
    for (std::size_t row = 0; row < tails.size(); ++row) {
        const std::int32_t tiles =
            batch.seq_tiles[row / static_cast<std::size_t>(batch.num_kv_heads)];
        read_to.push_back(tails[row].num_tiles > 0 ? schedule.own_limit : tiles);
    }
    for (std::int32_t helper = 0; helper < batch.num_resident; ++helper) {
        const std::int32_t end =
            std::min((helper + 1) * schedule.helper_tiles, schedule.tail_tiles);
        for (std::int32_t at = helper * schedule.helper_tiles; at < end;) {
            const auto row = static_cast<std::size_t>(
                std::ranges::find_if(tails,
                                     [at](const RowTail& tail) {
                                         return at >= tail.begin &&
                                                at < tail.begin + tail.num_tiles;
                                     }) -
                tails.begin());
            REQUIRE(row < tails.size());
            const TileRange tiles = piece_tiles(schedule, tails[row], at);
            REQUIRE(tiles.begin == read_to[row]);
            REQUIRE(tiles.end > tiles.begin);
            read_to[row] = tiles.end;
            at += tiles.end - tiles.begin;
            REQUIRE(at <= end);
            REQUIRE(first_helper(schedule, tails[row]) + pieces[row] == helper);
            ++pieces[row];
            REQUIRE(slots.insert(piece_slot(tails[row], helper)).second);
        }
    }
    for (std::size_t row = 0; row < tails.size(); ++row) {
        CAPTURE(row);
        CHECK(read_to[row] == batch.seq_tiles[row / static_cast<std::size_t>(batch.num_kv_heads)]);
        CHECK(pieces[row] == num_pieces(schedule, tails[row]));
    }
    if (!slots.empty()) {
        CHECK(*slots.rbegin() < static_cast<std::int32_t>(tails.size()) + batch.num_resident);
    }
}

TEST_CASE("a batch without a token has an empty schedule", "[decode]") {
    const Batch batch{.seq_tiles = {0, 0}};
    const Schedule schedule = schedule_of(batch);
    CHECK(schedule.tail_tiles == 0);
    CHECK(schedule.helper_tiles == 1);
}
