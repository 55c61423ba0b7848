// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include "warm_up.hpp"

#include <fmt/core.h>
#include <gpu_bench/gpu_facts.hpp>

#include <numeric>
#include <stdexcept>

namespace nanoserve::day21 {
namespace {

// A pool of 6 blocks, 2 tokens of 4 elements in each; element i holds the number i, so that a value
// tells where it was loaded from.
constexpr unsigned kBlockStride = 8;
constexpr unsigned kPoolBlocks = 6;

std::vector<float> copy_blocks_on_cpu(const std::vector<float>& pool,
                                      const std::vector<std::int32_t>& table, Launch launch) {
    std::vector<float> out(table.size() * kBlockStride);
    const CopyBlocks copy = {pool.data(), table.data(), out.data(), kBlockStride};
    //! [cpu]
    for (unsigned block = 0; block < launch.num_blocks; ++block) {          // blockIdx.x
        for (unsigned thread = 0; thread < launch.num_threads; ++thread) {  // threadIdx.x
            copy_element(copy, block, thread);
        }
    }
    //! [cpu]
    return out;
}

std::string range_text(float first, float last) {
    return fmt::format("{} to {}", first, last);
}

std::string trace(const std::vector<float>& out, Launch launch) {
    std::string text = "thread block  threads  load from the pool  store to out\n";
    for (unsigned block = 0; block < launch.num_blocks; ++block) {
        const unsigned first = block * kBlockStride;
        text += fmt::format("{:>12}  {:>7}  {:>18}  {:>12}\n", block,
                            fmt::format("0 to {}", launch.num_threads - 1),
                            range_text(out[first], out[first + launch.num_threads - 1]),
                            fmt::format("{} to {}", first, first + launch.num_threads - 1));
    }
    return text;
}

}  // namespace

std::string tell_warm_up() {
    std::vector<float> pool(std::size_t{kPoolBlocks} * kBlockStride);
    std::iota(pool.begin(), pool.end(), 0.0f);
    const std::vector<std::int32_t> table = {4, 1, 3};
    const Launch launch = {static_cast<unsigned>(table.size()), kBlockStride};
    const std::vector<float> out = copy_blocks_on_cpu(pool, table, launch);
    std::string text =
        fmt::format("table  {} {} {}\n\n{}\n", table[0], table[1], table[2], trace(out, launch));
    if (const auto reason = gpu_bench::reason_for_no_measurement()) {
        return text + fmt::format("on the CPU, thread after thread; not on a GPU: {}\n", *reason);
    }
    if (copy_blocks_on_gpu(pool, table, launch) != out) {
        throw std::runtime_error(
            "the warm-up's kernel stored other values than the loop on the CPU");
    }
    return text + "on the CPU, thread after thread, and on the GPU: the same values\n";
}

}  // namespace nanoserve::day21
