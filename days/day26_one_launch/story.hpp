// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// What the day shows without a GPU.
#pragma once

namespace nanoserve::day26 {

/// Prints how the one launch is cut up for each batch of the peers' cells: KV heads of a thread
/// block, thread blocks of a cluster, warps.
void tell_plans();

}  // namespace nanoserve::day26
