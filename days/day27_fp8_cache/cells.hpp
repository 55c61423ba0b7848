// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// Where Day 27 measures.
#pragma once

#include <gpu_bench/read_cell.hpp>

#include <vector>

namespace nanoserve::day27 {

/// The cells of data/peers/h200-peers.csv, each with a pool of fp8 and then with one of bf16; q and
/// out are bf16 in both.
[[nodiscard]] std::vector<gpu_bench::ReadCell> road_cells();

/// Those of fp8 alone.
[[nodiscard]] std::vector<gpu_bench::ReadCell> peer_cells();

}  // namespace nanoserve::day27
