// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// What Day 25 foretells before its record is taken: Day 24's walk, with another tile.
#pragma once

#include <day24_async_copy/prediction.hpp>

namespace nanoserve::day25 {

using gpu_bench::ReadCell;

/// The work of one tile on tensor cores is a chain of waits, not a count of instructions: a
/// fragment of K out of shared memory, two products behind each other, the softmax, a transposition
/// between the lanes, the products with V. A product takes 26 cycles, a transposition 24; all of it
/// about 260. For a group of more than 8 query heads a second product runs beside the first.
inline constexpr double kTileCycles = 260.0;

/// tensor_core_attention as its plan says.
[[nodiscard]] inline double predicted_us(const ReadCell& cell) {
    return day24::predicted_walk_us(cell, day24::plan_of(cell), kTileCycles / day24::kCyclesPerUs);
}

}  // namespace nanoserve::day25
