// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// Where Day 26 measures.
#pragma once

#include <gpu_bench/read_cell.hpp>

#include <vector>

namespace nanoserve::day26 {

/// The cells of data/peers/h200-peers.csv, uniform and ragged, and one skewed batch for each
/// head_dim.
[[nodiscard]] std::vector<gpu_bench::ReadCell> road_cells();

/// Other shapes, types and orders, to see that nothing falls off a cliff: no peer was measured
/// there.
[[nodiscard]] std::vector<gpu_bench::ReadCell> other_cells();

/// Batches on both sides of the plan's edges, in bf16 and in fp8.
[[nodiscard]] std::vector<gpu_bench::ReadCell> plan_cells();

}  // namespace nanoserve::day26
