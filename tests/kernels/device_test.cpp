// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include "support/needs_gpu.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <kernels/cuda_error.hpp>
#include <kernels/device.hpp>

#include <optional>
#include <string>

using Catch::Matchers::ContainsSubstring;

TEST_CASE("the device describes itself", "[kernels]") {
    nanoserve::testing::needs_gpu();
    CHECK_THAT(nanoserve::describe_device(),
               ContainsSubstring("sm_") && ContainsSubstring(" SMs, "));
}

TEST_CASE("a driver that is missing or too old is the reason for no device", "[kernels]") {
    CHECK(nanoserve::reason_for_no_device(cudaSuccess, 1) == std::nullopt);
    CHECK_THAT(*nanoserve::reason_for_no_device(cudaErrorNoDevice, 0),
               ContainsSubstring("needs a CUDA device: no CUDA-capable device"));
    CHECK_THAT(*nanoserve::reason_for_no_device(cudaErrorInsufficientDriver, 0),
               ContainsSubstring("driver version is insufficient"));
    CHECK(*nanoserve::reason_for_no_device(cudaSuccess, 0) ==
          "needs a CUDA device: none is visible");
    // A broken installation is not a missing one.
    CHECK_THROWS_AS(nanoserve::reason_for_no_device(cudaErrorSystemDriverMismatch, 0),
                    nanoserve::CudaError);
}

TEST_CASE("OPEN-21: code for another architecture, or no memory, is an error that says so",
          "[kernels]") {
    const auto text_of = [](cudaError_t code) -> std::string {
        try {
            nanoserve::throw_on_error(code, "launch");
        } catch (const nanoserve::CudaError& error) {
            CHECK(error.code() == code);
            return error.what();
        }
        return "";
    };
    CHECK_THAT(text_of(cudaErrorNoKernelImageForDevice),
               ContainsSubstring("launch failed at ") &&
                   ContainsSubstring("no kernel image is available for execution on the device"));
    CHECK_THAT(text_of(cudaErrorMemoryAllocation), ContainsSubstring("out of memory"));
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
