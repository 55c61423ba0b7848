// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include "cells.hpp"

namespace nanoserve::day27 {

std::vector<gpu_bench::ReadCell> road_cells() {
    std::vector<gpu_bench::ReadCell> cells;
    for (const std::int32_t head_dim : {64, 128}) {
        for (const gpu_bench::ReadCell& cell : gpu_bench::peer_cells({32, 8, head_dim})) {
            for (const DType dtype : {DType::fp8_e4m3, DType::bf16}) {
                cells.push_back(cell);
                cells.back().dtype = dtype;
            }
        }
    }
    return cells;
}

std::vector<gpu_bench::ReadCell> peer_cells() {
    std::vector<gpu_bench::ReadCell> cells = road_cells();
    std::erase_if(cells, [](const auto& cell) { return cell.dtype != DType::fp8_e4m3; });
    return cells;
}

}  // namespace nanoserve::day27
