// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// The CPU's storage conversions against CUDA's own types, on the device: both sides must store the
// same bits.
#include "support/device_case.hpp"
#include "support/needs_gpu.hpp"

#include <nanoserve/model/dtype.hpp>

#include <catch2/catch_test_macros.hpp>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <kernels/cuda_error.hpp>

#include <cstdint>
#include <kernels/decode/ptx.cuh>
#include <vector>

namespace {

// Counts floats whose bits are `first`, first + step, ... (one for each thread) that convert
// differently.
__global__ void count_differences(std::uint32_t first, std::uint32_t step,
                                  std::uint32_t* num_different) {
    const std::uint32_t bits = first + (blockIdx.x * blockDim.x + threadIdx.x) * step;
    const float x = __uint_as_float(bits);
    if (x != x) {
        return;  // NaN keeps no bits to compare
    }
    const bool same_bf16 = nanoserve::from_float<nanoserve::Bf16>(x).bits ==
                           __bfloat16_as_ushort(__float2bfloat16_rn(x));
    const bool same_fp16 =
        nanoserve::from_float<nanoserve::Fp16>(x).bits == __half_as_ushort(__float2half_rn(x));
    const bool same_fp8 = nanoserve::from_float<nanoserve::Fp8E4m3>(x).bits ==
                          __nv_cvt_float_to_fp8(x, __NV_SATFINITE, __NV_E4M3);
    if (!same_bf16 || !same_fp16 || !same_fp8) {
        atomicAdd(num_different, 1u);
    }
}

// Counts pairs of e4m3 elements, one pair for each thread, that the decode kernel takes for other
// fp16 numbers than they are.
__global__ void count_wrong_pairs(std::uint32_t* num_different) {
    const std::uint32_t pair = blockIdx.x * blockDim.x + threadIdx.x;
    const std::uint32_t lower = nanoserve::ptx::lower_e4m3_as_fp16(pair | 0x12340000u);
    const std::uint32_t upper = nanoserve::ptx::upper_e4m3_as_fp16(pair << 16 | 0x1234u);
    for (int i = 0; i < 2; ++i) {
        const float expected =
            nanoserve::to_float(nanoserve::Fp8E4m3{static_cast<std::uint8_t>(pair >> (8 * i))});
        for (const std::uint32_t both : {lower, upper}) {
            const float x =
                nanoserve::to_float(nanoserve::Fp16{static_cast<std::uint16_t>(both >> (16 * i))});
            const bool same = expected == expected ? __float_as_uint(x) == __float_as_uint(expected)
                                                   : x != x;  // NaN, whichever
            atomicAdd(num_different, same ? 0u : 1u);
        }
    }
}

}  // namespace

TEST_CASE("each pair of e4m3 elements becomes the same two numbers in fp16", "[kernels][decode]") {
    nanoserve::testing::needs_gpu();
    const nanoserve::testing::DeviceBuffer num_different(std::vector<std::uint32_t>{0});
    count_wrong_pairs<<<256, 256>>>(num_different.as<std::uint32_t>());
    NANOSERVE_CUDA_TRY(cudaGetLastError());
    CHECK(num_different.to_host<std::uint32_t>() == std::vector<std::uint32_t>{0});
}

TEST_CASE("floats become the same bf16, fp16 and fp8 bits as CUDA's conversions", "[kernels]") {
    nanoserve::testing::needs_gpu();
    constexpr std::uint32_t kNumThreads = 256, kNumBlocks = 1u << 16;
    std::uint32_t* num_different = nullptr;
    NANOSERVE_CUDA_TRY(cudaMalloc(&num_different, sizeof *num_different));
    NANOSERVE_CUDA_TRY(cudaMemset(num_different, 0, sizeof *num_different));
    count_differences<<<kNumBlocks, kNumThreads>>>(0, 255,
                                                   num_different);  // 2^24 patterns over all 2^32
    NANOSERVE_CUDA_TRY(cudaGetLastError());
    std::uint32_t result = 1;
    NANOSERVE_CUDA_TRY(cudaMemcpy(&result, num_different, sizeof result, cudaMemcpyDeviceToHost));
    NANOSERVE_CUDA_TRY(cudaFree(num_different));
    CHECK(result == 0);
}
