// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include "support/needs_gpu.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <kernels/cuda_error.hpp>
#include <kernels/device.hpp>

using Catch::Matchers::ContainsSubstring;

TEST_CASE("the device describes itself", "[kernels]") {
    nanoserve::testing::needs_gpu();
    CHECK_THAT(nanoserve::describe_device(),
               ContainsSubstring("sm_") && ContainsSubstring(" SMs, "));
}

TEST_CASE("OPEN-22: a failing CUDA call throws with its text and leaves no error behind",
          "[kernels]") {
    nanoserve::testing::needs_gpu();
    try {
        NANOSERVE_CUDA_TRY(cudaSetDevice(4711));
        FAIL("cudaSetDevice accepted device 4711");
    } catch (const nanoserve::CudaError& error) {
        CHECK(error.code() == cudaErrorInvalidDevice);
        CHECK_THAT(error.what(), ContainsSubstring("cudaSetDevice(4711)") &&
                                     ContainsSubstring("device_test.cpp") &&
                                     ContainsSubstring("cudaErrorInvalidDevice"));
    }
    CHECK(cudaGetLastError() == cudaSuccess);
}
