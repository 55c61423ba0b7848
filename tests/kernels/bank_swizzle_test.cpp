// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// How often shared memory answers for what the kernels do with a tile: no GPU needed.
#include "support/shared_banks.hpp"

#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <kernels/decode/bank_swizzle.hpp>
#include <kernels/decode/mma_fragments.hpp>

using nanoserve::chunk_offset;
using nanoserve::testing::num_answers;

namespace {

// Of 32 lanes, 8 at a time; place(lane) is a byte of the tile.
template <class Place>
std::size_t most_answers(Place place) {
    std::size_t most = 0;
    for (unsigned first = 0; first < 32; first += 8) {
        std::vector<unsigned> addresses;
        for (unsigned lane = first; lane < first + 8; ++lane) {
            addresses.push_back(place(lane));
        }
        most = std::max(most, num_answers(addresses));
    }
    return most;
}

}  // namespace

TEST_CASE("the simulated banks count what stands in the same bank", "[decode]") {
    CHECK(num_answers({0}) == 1);
    CHECK(num_answers({0, 16, 32, 48, 64, 80, 96, 112}) == 1);
    CHECK(num_answers({0, 0, 0}) == 1);  // the same word: one answer for all
    CHECK(num_answers({0, 128}) == 2);
    CHECK(num_answers({0, 128, 256, 384, 16, 144}) == 4);
}

TEMPLATE_TEST_CASE_SIG("copies, whole rows and matrices meet no bank twice", "[decode]",
                       ((int kRowBytes), kRowBytes), 128, 256) {
    constexpr unsigned kNumChunks = kRowBytes / 16;
    for (unsigned down = 0; down < 16; down += 32 / kNumChunks) {
        CHECK(most_answers([&](unsigned lane) {
                  return chunk_offset<kRowBytes>(down + lane / kNumChunks, lane % kNumChunks);
              }) == 1);
    }
    for (unsigned step = 0; step < kNumChunks / 2; ++step) {
        for (const auto place : {nanoserve::key_chunk, nanoserve::value_chunk}) {
            CHECK(most_answers([&](unsigned lane) {
                      return chunk_offset<kRowBytes>(place(lane).row, place(lane).chunk) ^ step
                                                                                               << 5;
                  }) == 1);
        }
    }
}

TEST_CASE("in the pool's own order a matrix would take 8 answers", "[decode]") {
    CHECK(most_answers([](unsigned lane) {
              return nanoserve::key_chunk(lane).row * 128 + nanoserve::key_chunk(lane).chunk * 16;
          }) == 8);
}
