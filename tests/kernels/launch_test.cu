// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// What launch_kernel says of a launch; that every kernel is launched so: launch_error_test.cpp.
#include "support/needs_gpu.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <kernels/cuda_error.hpp>

#include <kernels/launch.cuh>

using Catch::Matchers::ContainsSubstring;
using nanoserve::launch_kernel;

namespace {

__global__ void do_nothing(int) {}

}  // namespace

// A grid of nothing; without a GPU no grid will do.
TEST_CASE("OPEN-22: a failing launch throws with its kernel and leaves no error behind",
          "[kernels]") {
    try {
        NANOSERVE_CUDA_TRY(launch_kernel(do_nothing, 0, 1, 0, nullptr, 7));
        FAIL("a grid of no thread blocks was launched");
    } catch (const nanoserve::CudaError& error) {
        CHECK_THAT(error.what(),
                   ContainsSubstring("launch_kernel(do_nothing, 0, 1, 0, nullptr, 7)") &&
                       ContainsSubstring("launch_test.cu"));
    }
    nanoserve::testing::needs_gpu();  // or every call fails, the next one too
    CHECK(cudaGetLastError() == cudaSuccess);
}

TEST_CASE("a launch neither reports nor clears the error of an earlier call", "[kernels]") {
    nanoserve::testing::needs_gpu();
    REQUIRE(cudaSetDevice(4711) == cudaErrorInvalidDevice);
    CHECK(launch_kernel(do_nothing, 1, 1, 0, nullptr, 7) == cudaSuccess);
    CHECK(cudaGetLastError() == cudaErrorInvalidDevice);
}
