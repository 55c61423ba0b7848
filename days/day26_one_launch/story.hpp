// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// What the day shows without a GPU.
#pragma once

namespace nanoserve::day26 {

/// Prints how the one launch is cut up for each batch of the peers' cells: KV heads of a thread
/// block, thread blocks of a cluster, warps; and, where there is a record, what may be claimed
/// against the peers. Throws report::FileError when a file in data/ can't be understood.
void tell_without_gpu();

}  // namespace nanoserve::day26
