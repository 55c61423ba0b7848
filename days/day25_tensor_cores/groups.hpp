// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// Groups of all sizes over the same bytes: what a query head more costs.
#pragma once

#include <gpu_bench/read_cell.hpp>

#include <vector>

namespace nanoserve::day25 {

/// 8 KV heads of head_dim 128 with 1, 2, 4, 6, 8 and 16 query heads each; batches of 8 and 64 with
/// 4096 tokens.
[[nodiscard]] std::vector<gpu_bench::ReadCell> group_cells();

}  // namespace nanoserve::day25
