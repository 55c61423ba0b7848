// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// What a warp asks for, waits for and uses, in which order: no GPU needed.
#include "support/late_copies.hpp"

#include <nanoserve/model/require.hpp>

#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <kernels/decode/ring_order.hpp>

#include <string>

using nanoserve::join_text;
using nanoserve::walk_ring;
using nanoserve::testing::LateCopies;

namespace {

// Writes down what it is told.
struct Diary {
    std::string text;

    void ask(int tile, int stage) { text = join_text(text, "ask ", tile, " into ", stage, ", "); }
    void close_group() { text += "close; "; }
    template <int kGroups>
    void wait_for_all_but() {
        text = join_text(text, "wait for all but ", kGroups, "; ");
    }
    void use(int tile, int stage) { text = join_text(text, "use ", tile, " from ", stage, "; "); }
};

}  // namespace

TEST_CASE("three tiles go through two stages in this order", "[decode]") {
    Diary diary;
    walk_ring<2>(3, diary);
    CHECK(diary.text ==
          "ask 0 into 0, close; ask 1 into 1, close; "
          "wait for all but 1; use 0 from 0; ask 2 into 0, close; "
          "wait for all but 1; use 1 from 1; close; "
          "wait for all but 1; use 2 from 0; close; ");
}

TEMPLATE_TEST_CASE_SIG("copies may arrive as late as they like, and none is waited for too early",
                       "[decode]", ((int kStages), kStages), 1, 2, 3, 4, 5, 6) {
    for (int num_tiles = 0; num_tiles < 40; ++num_tiles) {
        LateCopies warp(num_tiles, kStages);
        walk_ring<kStages>(num_tiles, warp);
        CAPTURE(num_tiles, warp.used());
        CHECK(warp.num_used() == num_tiles);
        CHECK(warp.beyond() == "none");
        CHECK(warp.overwritten() == "none");
        CHECK(warp.wrong_stage() == "none");
        CHECK(warp.too_early() == "none");
        CHECK(warp.idle() == "none");
        CHECK(warp.impatient() == "none");
    }
}
