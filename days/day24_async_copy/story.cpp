// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include "story.hpp"

#include <fmt/core.h>
#include <kernels/decode/bank_swizzle.hpp>
#include <kernels/decode/ring_order.hpp>

#include <string>

namespace nanoserve::day24 {
namespace {

constexpr int kStages = 3;

// Draws the ring after each use: which tile each stage holds or waits for.
class DrawnRing {
  public:
    void ask(int tile, int stage) { holds_[stage] = tile; }
    void close_group() {}
    template <int kGroups>
    void wait_for_all_but() {
        fmt::print("  wait for all but {}:", kGroups);
    }
    void use(int tile, int stage) {
        for (int i = 0; i < kStages; ++i) {
            const std::string text = holds_[i] < 0 ? "-" : std::to_string(holds_[i]);
            fmt::print(" {:>4}", i == stage ? "[" + text + "]" : text + " ");
        }
        fmt::print("   use {}\n", tile);
        holds_[stage] = -1;
    }

  private:
    int holds_[kStages] = {-1, -1, -1};
};

void draw_swizzle() {
    fmt::print("\nWhich chunk of a row of 128 bytes stands where; a column is 4 banks:\n");
    for (unsigned row = 0; row < 8; ++row) {
        fmt::print("  row {}:", row);
        for (unsigned place = 0; place < 8; ++place) {
            for (unsigned chunk = 0; chunk < 8; ++chunk) {
                if (chunk_offset<128>(row, chunk) == row * 128 + place * 16) {
                    fmt::print(" {}", chunk);
                }
            }
        }
        fmt::print("\n");
    }
}

}  // namespace

void tell_ring() {
    fmt::print("\nSix tiles through a ring of {} stages; [n] has arrived, n is on its way:\n",
               kStages);
    DrawnRing ring;
    walk_ring<kStages>(6, ring);
    draw_swizzle();
}

}  // namespace nanoserve::day24
