// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// Day 26: does the schedule have every tile read once, in equal parts? It is walked as the thread
// blocks of a launch do.
#include "exercise/expect.hpp"

#include <catch2/catch_test_macros.hpp>
#include <kernels/decode/schedule.hpp>

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

using namespace nanoserve;
using namespace nanoserve::testing;

namespace {

constexpr std::int32_t kHeads = 8;  // KV heads, a row each
constexpr std::int32_t kSms = 132;  // each holds one thread block

struct Batch {
    std::vector<std::int32_t> seq_tiles;
    std::int32_t blocks_per_seq = kHeads;  // thread blocks for the KV heads of a sequence
};

Schedule schedule_of(const Batch& batch) {
    Schedule schedule;
    schedule.own_limit =
        own_limit(std::accumulate(batch.seq_tiles.begin(), batch.seq_tiles.end(), 0),
                  static_cast<std::int32_t>(batch.seq_tiles.size()), batch.blocks_per_seq, kSms);
    for (const std::int32_t tiles : batch.seq_tiles) {
        schedule.tail_tiles += kHeads * tail_tiles(tiles, schedule.own_limit);
    }
    const auto full = static_cast<std::int32_t>(std::ranges::count_if(
        batch.seq_tiles, [&](std::int32_t tiles) { return tiles >= schedule.own_limit; }));
    const auto num_seqs = static_cast<std::int32_t>(batch.seq_tiles.size());
    schedule.helper_tiles = helper_tiles(
        schedule.tail_tiles,
        num_ranges(full * batch.blocks_per_seq, num_seqs * batch.blocks_per_seq, kSms));
    return schedule;
}

// One long history among 63 short ones; two heads of a sequence share a thread block.
Batch skewed() {
    Batch batch{.seq_tiles = std::vector<std::int32_t>(64, 64), .blocks_per_seq = 4};
    batch.seq_tiles[20] = 4096;
    return batch;
}

// How often each tile of each row is read: "once", or what is wrong.
std::string reads_of(const Batch& batch) {
    const Schedule schedule = schedule_of(batch);
    if (schedule.helper_tiles < 1) {
        return "a helper's range has " + std::to_string(schedule.helper_tiles) + " tiles";
    }
    RowTail tail;
    for (const std::int32_t tiles : batch.seq_tiles) {
        for (std::int32_t head = 0; head < kHeads; ++head) {
            tail.num_tiles = tail_tiles(tiles, schedule.own_limit);
            std::vector<std::int32_t> reads(static_cast<std::size_t>(tiles), 0);
            const std::int32_t own = tail.num_tiles > 0 ? schedule.own_limit : tiles;
            for (std::int32_t tile = 0; tile < own && tile < tiles; ++tile) {
                ++reads[static_cast<std::size_t>(tile)];
            }
            std::int32_t pieces = 0;
            for (std::int32_t at = tail.begin; at < tail.begin + tail.num_tiles; ++pieces) {
                const TileRange piece = piece_tiles(schedule, tail, at);
                if (piece.begin < 0 || piece.end > tiles || piece.end <= piece.begin) {
                    return "a row of " + std::to_string(tiles) + " tiles has a piece from " +
                           std::to_string(piece.begin) + " to " + std::to_string(piece.end);
                }
                if (at / schedule.helper_tiles !=
                    (at + piece.end - piece.begin - 1) / schedule.helper_tiles) {
                    return "a piece is in the ranges of two helpers";
                }
                for (std::int32_t tile = piece.begin; tile < piece.end; ++tile) {
                    ++reads[static_cast<std::size_t>(tile)];
                }
                at += piece.end - piece.begin;
            }
            if (pieces != num_pieces(schedule, tail)) {
                return "a tail has " + std::to_string(pieces) + " pieces, not " +
                       std::to_string(num_pieces(schedule, tail));
            }
            const auto wrong = std::ranges::find_if(reads, [](std::int32_t n) { return n != 1; });
            if (wrong != reads.end()) {
                return "tile " + std::to_string(wrong - reads.begin()) + " of " +
                       std::to_string(tiles) + " is read " + std::to_string(*wrong) + " times";
            }
            tail.begin += tail.num_tiles;
            tail.rank += tail.num_tiles > 0 ? 1 : 0;
        }
    }
    return "once";
}

}  // namespace

TEST_CASE("thread blocks that fill the SMs read their equal rows alone") {
    // 16 sequences of 8 heads are 128 thread blocks, 64 are 512: nearly 1 and 4 for each SM.
    for (const std::size_t num_seqs : {16, 64, 256}) {
        const Batch batch{.seq_tiles = std::vector<std::int32_t>(num_seqs, 1000)};
        expect_equal("tiles left to helpers by " + std::to_string(num_seqs) + " equal sequences",
                     schedule_of(batch).tail_tiles, 0);
    }
}

TEST_CASE("a row's own thread block reads an equal part of all tiles") {
    // 4 * (63 * 64 + 4096) tiles of thread blocks, for 132 SMs, in 256 / 132 = 2 rounds.
    expect_equal("tiles of a row that its own thread block reads",
                 own_limit(63 * 64 + 4096, 64, 4, kSms), 4 * (63 * 64 + 4096) / (2 * kSms));
}

TEST_CASE("no thread block leaves a row before it has read 64 tiles") {
    expect_equal("tiles of a row that its own thread block reads, of few tiles in all",
                 own_limit(100, 3, 8, kSms), kSmallestOwnLimit);
    expect_equal("the same without any tile", own_limit(0, 3, 8, kSms), kSmallestOwnLimit);
}

TEST_CASE("a tail is more than half of what comes before it, or there is none") {
    expect_equal("tail of 150 tiles behind 100", tail_tiles(150, 100), 0);
    expect_equal("tail of 151 tiles behind 100", tail_tiles(151, 100), 51);
    expect_equal("tail of 40 tiles behind 100", tail_tiles(40, 100), 0);
    expect_equal("tail of 4096 tiles behind 64", tail_tiles(4096, 64), 4032);
}

TEST_CASE("few rows leave the rest of the GPU to helpers") {
    expect_equal("ranges beside 64 thread blocks of 64 that read up to the limit",
                 num_ranges(64, 64, kSms), 68);
    expect_equal("ranges beside 8 of 64", num_ranges(8, 64, kSms), 124);
    expect_equal("ranges beside 132 of 132", num_ranges(132, 132, kSms), 1);
}

TEST_CASE("behind many rows every SM has a helper") {
    expect_equal("ranges behind 256 thread blocks, 4 of which read up to the limit",
                 num_ranges(4, 256, kSms), kSms);
    expect_equal("ranges behind 133, all of which do", num_ranges(133, 133, kSms), kSms);
}

TEST_CASE("helpers have equal ranges that reach the end") {
    expect_equal("tiles of a range, 264 for 132 helpers", helper_tiles(264, kSms), 2);
    expect_equal("tiles of a range, 265 for 132 helpers", helper_tiles(265, kSms), 3);
    expect_equal("tiles of a range, 1 for 132 helpers", helper_tiles(1, kSms), 1);
    expect_equal("tiles of a range, none for 132 helpers", helper_tiles(0, kSms), 1);
}

TEST_CASE("every tile of one long history among short ones is read once") {
    expect_equal("how often tiles are read", reads_of(skewed()), std::string("once"));
}

TEST_CASE("every tile of many rows with short tails is read once") {
    Batch batch;
    for (std::int32_t seq = 0; seq < 40; ++seq) {
        batch.seq_tiles.push_back(seq % 3 == 0 ? 97 + seq : seq);
    }
    expect_equal("how often tiles are read", reads_of(batch), std::string("once"));
}

TEST_CASE("every tile of a batch with empty sequences is read once") {
    expect_equal("how often tiles are read", reads_of({.seq_tiles = {0, 5000, 0, 1, 0, 700}}),
                 std::string("once"));
}

TEST_CASE("no helper has more than its share of a long history") {
    const Schedule schedule = schedule_of(skewed());
    expect_equal("tiles of a helper's range", schedule.helper_tiles,
                 (schedule.tail_tiles + kSms - 1) / kSms);
    expect_equal("whether there is a tail", schedule.tail_tiles > 0, true);
}
