// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include "prediction.hpp"

#include <cmath>
#include <iterator>

namespace nanoserve::gpu_bench {
namespace {

double bytes_to_load(const ReadCell& cell) {
    return static_cast<double>(kv_bytes(cell, make_tables(cell)));
}

}  // namespace

double KnownGpu::launch_us(std::int64_t num_thread_blocks) const {
    struct Measured {
        double num_thread_blocks, us;
    };
    constexpr Measured kMeasured[] = {{8, 0.54}, {128, 0.62}, {264, 0.65}, {512, 0.80}};
    const auto wanted = static_cast<double>(num_thread_blocks);
    for (std::size_t i = 1; i < std::size(kMeasured); ++i) {
        const Measured &before = kMeasured[i - 1], &after = kMeasured[i];
        if (wanted <= after.num_thread_blocks) {
            const double part = (wanted - before.num_thread_blocks) /
                                (after.num_thread_blocks - before.num_thread_blocks);
            return std::lerp(before.us, after.us, part < 0 ? 0 : part);
        }
    }
    return std::rbegin(kMeasured)->us;  // the rest starts while the first are at work
}

double KnownGpu::dram_bytes_per_us(std::int64_t row_bytes) const {
    return row_bytes >= 256 ? 4.47e6 : row_bytes >= 128 ? 4.34e6 : 3.74e6;
}

std::int64_t row_bytes(const ReadCell& cell) {
    return cell.shape.head_dim * bytes_of(cell.dtype);
}

double dram_us(const KnownGpu& gpu, const ReadCell& cell) {
    return bytes_to_load(cell) / gpu.dram_bytes_per_us(row_bytes(cell));
}

double predicted_load_only_us(const ReadCell& cell) {
    const KnownGpu gpu;
    const std::int64_t thread_blocks = cell.num_seqs * cell.shape.num_kv_heads;
    return gpu.launch_us(thread_blocks) + 2 * gpu.l2_wait_us + gpu.dram_wait_us +
           dram_us(gpu, cell);
}

double predicted_stream_us(const ReadCell& cell) {
    const KnownGpu gpu;
    return gpu.launch_us(gpu.num_sms) + gpu.dram_wait_us +
           bytes_to_load(cell) / gpu.stream_bytes_per_us();
}

}  // namespace nanoserve::gpu_bench
