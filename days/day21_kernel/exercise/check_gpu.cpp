// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// Day 21 on a GPU: what the CPU twin of the kernel cannot show.
#include "exercise/expect.hpp"
#include "support/device_case.hpp"
#include "support/needs_gpu.hpp"

#include <catch2/catch_test_macros.hpp>
#include <kernels/general/rounding_bounds.hpp>

#include <algorithm>
#include <cstring>

using namespace nanoserve;
using namespace nanoserve::testing;

namespace {

// Copies the case to the device, runs the kernel there and brings out and lse back.
void kernel(const PagedAttentionParams& params) {
    const DeviceResult result = DeviceCase(params).run();
    std::memcpy(params.out, result.out.data(), result.out.size());
    std::copy(result.lse.begin(), result.lse.end(), params.lse);
}

void expect_oracle(const CaseSpec& spec) {
    PagedCase test(spec);
    const RoundingBounds bounds = paged_attention_rounding_bounds(test.params());
    testing::expect_oracle(test, test.params(), kernel, std::max(bounds.out, bounds.lse));
}

}  // namespace

TEST_CASE("on the GPU, one step has the oracle's numbers") {
    needs_gpu();
    expect_oracle({.block_size = 32, .seq_lens = {32}});
}

TEST_CASE("on the GPU, the numbers are the oracle's at every block edge") {
    needs_gpu();
    for (const std::int32_t block_size : {1, 16, 70}) {
        expect_oracle({.block_size = block_size,
                       .seq_lens = {1, block_size, block_size + 1, 5 * block_size + 2}});
    }
}

TEST_CASE("on the GPU, the numbers are the oracle's for every size of head") {
    needs_gpu();
    for (const std::int32_t head_dim : {8, 64, 96, 128, 256}) {
        expect_oracle({.shape = {.num_q_heads = 8, .num_kv_heads = 2, .head_dim = head_dim},
                       .seq_lens = {300, 40}});
    }
}

TEST_CASE("on the GPU, the bits are the same in each of a hundred runs: no thread overtakes") {
    needs_gpu();
    PagedCase test({.shape = {.num_q_heads = 32, .num_kv_heads = 8, .head_dim = 64},
                    .block_size = 16,
                    .seq_lens = {1000, 777, 64, 3}});
    for (int run = 0; run < 100; ++run) {
        expect_same_bits(test, kernel, kernel);
    }
}
