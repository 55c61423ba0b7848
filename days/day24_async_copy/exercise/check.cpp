// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// Day 24: where a chunk stands in shared memory, and what is asked for when? Banks are counted, and
// copies arrive as late as they may.
#include "exercise/expect.hpp"
#include "support/late_copies.hpp"
#include "support/shared_banks.hpp"

#include <catch2/catch_test_macros.hpp>
#include <kernels/decode/bank_swizzle.hpp>
#include <kernels/decode/ring_order.hpp>

#include <numeric>
#include <set>
#include <string>
#include <vector>

using namespace nanoserve;
using namespace nanoserve::testing;

namespace {

constexpr unsigned kRows = 16;  // of a tile

// Calls check.operator()<kRowBytes>() for rows that fill half of the banks, all, one and a half
// times all, twice all.
template <class Check>
void for_each_row_size(Check check) {
    check.template operator()<64>();
    check.template operator()<128>();
    check.template operator()<192>();
    check.template operator()<256>();
}

// Neighbouring lanes that copy chunks of the same row.
template <int kRowBytes>
constexpr unsigned kLanesPerRow = std::gcd(kRowBytes / 16, 32);

void expect_one_answer(const std::vector<unsigned>& addresses) {
    REQUIRE(std::set<unsigned>(addresses.begin(), addresses.end()).size() == 8);
    REQUIRE(num_answers(addresses) == 1);
}

// Walks histories of 0 to 20 tiles through rings of 1 to 6 stages; `told` says of each walk what
// went wrong, or "none".
template <class Told>
void for_each_walk(Told told) {
    const auto walk = [&]<int kStages>() {
        for (int num_tiles = 0; num_tiles <= 20; ++num_tiles) {
            LateCopies warp(num_tiles, kStages);
            walk_ring<kStages>(num_tiles, warp);
            expect_equal(
                "what goes wrong with " + std::to_string(num_tiles) + " tiles and " +
                    std::to_string(kStages) + " stages",
                num_tiles > 0 && warp.used().empty() ? "no tile is used" : told(warp, num_tiles),
                std::string("none"));
        }
    };
    walk.template operator()<1>();
    walk.template operator()<2>();
    walk.template operator()<3>();
    walk.template operator()<4>();
    walk.template operator()<5>();
    walk.template operator()<6>();
}

}  // namespace

TEST_CASE("each chunk of a tile has a place of its own in it") {
    for_each_row_size([]<int kRowBytes>() {
        std::set<unsigned> places;
        for (unsigned row = 0; row < kRows; ++row) {
            for (unsigned chunk = 0; chunk < kRowBytes / 16; ++chunk) {
                const unsigned offset = chunk_offset<kRowBytes>(row, chunk);
                INFO("chunk " << chunk << " of row " << row << ", rows of " << kRowBytes
                              << " bytes, stands at byte " << offset);
                REQUIRE(offset % 16 == 0);
                REQUIRE(offset < kRows * kRowBytes);
                REQUIRE(places.insert(offset).second);
            }
        }
    });
}

TEST_CASE("chunks change places with their neighbours alone") {
    for_each_row_size([]<int kRowBytes>() {
        constexpr unsigned kSpan = kSwizzleChunks<kRowBytes>;
        for (unsigned row = 0; row < kRows; ++row) {
            for (unsigned chunk = 0; chunk < kRowBytes / 16; ++chunk) {
                const unsigned offset = chunk_offset<kRowBytes>(row, chunk);
                INFO("chunk " << chunk << " of row " << row << ", rows of " << kRowBytes
                              << " bytes, stands at byte " << offset);
                REQUIRE(offset / 16 / kSpan == (row * kRowBytes / 16 + chunk) / kSpan);
            }
        }
    });
}

TEST_CASE("8 lanes copy 8 chunks into different banks") {
    for_each_row_size([]<int kRowBytes>() {
        constexpr unsigned kLanes = kLanesPerRow<kRowBytes>;
        for (unsigned first = 0; first < kRows * kLanes; first += 8) {
            std::vector<unsigned> addresses;
            for (unsigned lane = first; lane < first + 8; ++lane) {
                addresses.push_back(chunk_offset<kRowBytes>(lane / kLanes, lane % kLanes));
            }
            INFO("from chunk " << first % kLanes << " of row " << first / kLanes << ", rows of "
                               << kRowBytes << " bytes");
            expect_one_answer(addresses);
        }
    });
}

TEST_CASE("the same chunk of 8 neighbouring rows stands in different banks") {
    for_each_row_size([]<int kRowBytes>() {
        for (unsigned chunk = 0; chunk < kRowBytes / 16; ++chunk) {
            for (unsigned first = 0; first < kRows; first += 8) {
                std::vector<unsigned> addresses;
                for (unsigned row = first; row < first + 8; ++row) {
                    addresses.push_back(chunk_offset<kRowBytes>(row, chunk));
                }
                INFO("chunk " << chunk << " of rows " << first << " to " << first + 7
                              << ", rows of " << kRowBytes << " bytes");
                expect_one_answer(addresses);
            }
        }
    });
}

// A lane works out one address, and finds all others of a tile from it.
TEST_CASE("further along a row, and further down, is one exclusive or away") {
    for_each_row_size([]<int kRowBytes>() {
        constexpr unsigned kRowsAtOnce = 32 / kLanesPerRow<kRowBytes>;
        for (unsigned row = 0; row < kRows; ++row) {
            const unsigned offset = chunk_offset<kRowBytes>(row, 0);
            INFO("from row " << row << ", rows of " << kRowBytes << " bytes");
            for (unsigned step = 0; step < kSwizzleChunks<kRowBytes>; ++step) {
                REQUIRE(chunk_offset<kRowBytes>(row, step) == (offset ^ step << 4));
            }
            for (unsigned down = 0; row < kRowsAtOnce && down < kRows; down += kRowsAtOnce) {
                REQUIRE(chunk_offset<kRowBytes>(row + down, 0) ==
                        (offset ^ chunk_rotation<kRowBytes>(down) << 4) + down * kRowBytes);
            }
        }
    });
}

TEST_CASE("every tile is used once, in its turn") {
    for_each_walk([](const LateCopies& warp, int num_tiles) {
        std::string all;
        for (int tile = 0; tile < num_tiles; ++tile) {
            all += (all.empty() ? "" : " ") + std::to_string(tile);
        }
        return warp.used() == all ? "none" : "these tiles are used: " + warp.used();
    });
}

TEST_CASE("nothing is asked for that the history does not have") {
    for_each_walk([](const LateCopies& warp, int) { return warp.beyond(); });
}

TEST_CASE("a tile is used from the stage that it was asked for into") {
    for_each_walk([](const LateCopies& warp, int) { return warp.wrong_stage(); });
}

TEST_CASE("no stage is asked for again before its tile was used") {
    for_each_walk([](const LateCopies& warp, int) { return warp.overwritten(); });
}

TEST_CASE("no tile is used before its copies have arrived, the last ones included") {
    for_each_walk([](const LateCopies& warp, int) { return warp.too_early(); });
}

TEST_CASE("at each wait as many tiles are on their way as there are stages") {
    for_each_walk([](const LateCopies& warp, int) { return warp.idle(); });
}

TEST_CASE("a wait is for one tile: the others stay on their way") {
    for_each_walk([](const LateCopies& warp, int) { return warp.impatient(); });
}
