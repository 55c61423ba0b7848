// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include "story.hpp"

#include <fmt/core.h>
#include <kernels/decode/mma_fragments.hpp>

namespace nanoserve::day25 {
namespace {

constexpr unsigned kLanes = 32;

void draw_scores() {
    unsigned holder[16][8] = {};  // [token, head]
    for (unsigned lane = 0; lane < kLanes; ++lane) {
        for (unsigned i = 0; i < 4; ++i) {
            holder[c_element(lane, i).row][c_element(lane, i).column] = lane;
        }
    }
    fmt::print("\nWhich lane holds which score of a product; a row is a token, a column a head:\n");
    for (unsigned token = 0; token < 16; ++token) {
        fmt::print("  token {:>2}:", token);
        for (const unsigned lane : holder[token]) {
            fmt::print(" {:>2}", lane);
        }
        fmt::print("\n");
    }
}

void draw_chunks(const char* what, RowChunk (*place)(unsigned)) {
    fmt::print("\nWhich lane names which 16 bytes of {}:\n", what);
    unsigned names[16][2] = {};  // [token, chunk]
    for (unsigned lane = 0; lane < kLanes; ++lane) {
        names[place(lane).row][place(lane).chunk] = lane;
    }
    for (unsigned chunk = 0; chunk < 2; ++chunk) {
        fmt::print("  elements {:>2} to {:>2}, tokens 0 to 15:", 8 * chunk, 8 * chunk + 7);
        for (const auto& of_token : names) {
            fmt::print(" {:>2}", of_token[chunk]);
        }
        fmt::print("\n");
    }
}

}  // namespace

void tell_fragments() {
    draw_scores();
    draw_chunks("K, tokens as rows", key_chunk);
    draw_chunks("V, to be transposed", value_chunk);
}

}  // namespace nanoserve::day25
