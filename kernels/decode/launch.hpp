// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>
#include <kernels/decode/config.hpp>

#include <cstdint>

namespace nanoserve {

/// What the configuration of a launch is chosen by.
struct DecodeChoice {
    std::int32_t head_dim, group_size, block_size;
    bool evict_first, balance;
    bool has_rules;        ///< a window or sinks
    bool overlap;          ///< starts while the kernel before it ends
    std::int32_t num_sms;  ///< where it balances
};

/// Launches the decode kernel for q of type T and pools of Stored, sizes that
/// reason_not_to_decode() lets through. Compiled for the pairs below, each in a file of its own.
/// @throws CudaError when the launch fails
template <class T, class Stored>
void launch_decode(const DecodeChoice& choice, const DecodeArgs& args, cudaStream_t stream);

extern template void launch_decode<Bf16, Bf16>(const DecodeChoice&, const DecodeArgs&,
                                               cudaStream_t);
extern template void launch_decode<Fp16, Fp16>(const DecodeChoice&, const DecodeArgs&,
                                               cudaStream_t);
extern template void launch_decode<Bf16, Fp8E4m3>(const DecodeChoice&, const DecodeArgs&,
                                                  cudaStream_t);
extern template void launch_decode<Fp16, Fp8E4m3>(const DecodeChoice&, const DecodeArgs&,
                                                  cudaStream_t);

}  // namespace nanoserve
