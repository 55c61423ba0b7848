// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// The kernels of paged_decode for q of Fp16 over pools of Fp16.
#include <kernels/decode/decode_launch.cuh>

namespace nanoserve {

template void launch_decode<Fp16, Fp16>(const DecodeChoice&, const DecodeArgs&, cudaStream_t);

}  // namespace nanoserve
