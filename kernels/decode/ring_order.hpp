// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kernels/general/host_device.hpp>

namespace nanoserve {

// The order in which one warp goes through its tiles when copies are asynchronous. A Warp has
//   ask(tile, stage)              asks for a tile's rows, to be copied into a stage of the ring
//   close_group()                 all copies asked for since the last call are one group
//   wait_for_all_but<kGroups>()   returns when at most the newest kGroups groups are on their way
//   use(tile, stage)              takes in the tile that has arrived in a stage
// What a group holds is the caller's business; only the newest groups can be left out of a wait.

//! [ring order]
/// Takes tiles 0 to num_tiles - 1 through a ring of kStages stages: each is asked for as early as a
/// stage is free, and used in turn.
template <int kStages, class Warp>
NANOSERVE_DEVICE void walk_ring(int num_tiles, Warp& warp) {
    const auto fill = [&](int tile, int stage) {
        if (tile < num_tiles) {
            warp.ask(tile, stage);
        }
        warp.close_group();  // without a tile too: one group for each stage, to the end
    };
    NANOSERVE_UNROLL
    for (int stage = 0; stage < kStages; ++stage) {
        fill(stage, stage);
    }
    int stage = 0;
    NANOSERVE_NO_UNROLL
    for (int tile = 0; tile < num_tiles; ++tile) {
        warp.template wait_for_all_but<kStages - 1>();
        warp.use(tile, stage);
        fill(tile + kStages, stage);
        stage = stage + 1 == kStages ? 0 : stage + 1;
    }
}
//! [ring order]

}  // namespace nanoserve
