// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// Where Days 24 and 25 measure, and how each of their reads is cut up there.
#pragma once

#include <gpu_bench/read_cell.hpp>
#include <kernels/async_copy/plan.hpp>

#include <vector>

namespace nanoserve::day24 {

/// Batches of 1, 8 and 64 with histories from 256 to 65536 tokens, for both shapes of the road.
[[nodiscard]] std::vector<gpu_bench::ReadCell> cells();

/// The plan with another number of stages, each of which is 32 KB of a thread block: 8 warps where
/// head_dim is 64, 4 where it is 128, so that six of them fit.
[[nodiscard]] AsyncCopyPlan with_stages(AsyncCopyPlan plan, int num_stages, std::int32_t head_dim);

}  // namespace nanoserve::day24
