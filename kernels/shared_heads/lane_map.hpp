// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kernels/general/host_device.hpp>

namespace nanoserve {

//! [lane map]
/// Which lanes of a warp read which rows. A row is 1 << chunks_log2 chunks of 16 bytes, and as many
/// neighbouring lanes read it with one load, a chunk each: together they are a *reader*. The
/// readers of a warp take as many neighbouring tokens at once.
struct LaneMap {
    int chunks_log2 = 0;

    /// The chunk of a row that a lane reads.
    [[nodiscard]] NANOSERVE_DEVICE int chunk(int lane) const {
        return lane & ((1 << chunks_log2) - 1);
    }
    /// The reader that a lane belongs to.
    [[nodiscard]] NANOSERVE_DEVICE int reader(int lane) const { return lane >> chunks_log2; }
    /// Readers in a warp of 32 lanes.
    [[nodiscard]] NANOSERVE_DEVICE int num_readers() const { return 32 >> chunks_log2; }
};
//! [lane map]

}  // namespace nanoserve
