// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include "groups.hpp"

namespace nanoserve::day25 {

std::vector<gpu_bench::ReadCell> group_cells() {
    std::vector<gpu_bench::ReadCell> cells;
    for (const std::int64_t num_seqs : {8, 64}) {
        for (const std::int32_t group_size : {1, 2, 4, 6, 8, 16}) {
            cells.push_back(
                {.shape = {8 * group_size, 8, 128}, .num_seqs = num_seqs, .seq_len = 4096});
        }
    }
    return cells;
}

}  // namespace nanoserve::day25
