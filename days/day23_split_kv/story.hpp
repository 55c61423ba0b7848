// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// What Day 23 shows where there is no GPU.
#pragma once

namespace nanoserve::day23 {

/// Prints how a history is cut into splits, what each of them sums for one element of the output,
/// their merge, and the number of splits of some batches.
void tell_splits();

}  // namespace nanoserve::day23
