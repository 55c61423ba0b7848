// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// The host's side of the decode kernels that needs their types: which configuration a launch runs,
// and the launch itself.
#pragma once

#include <kernels/cuda_error.hpp>
#include <kernels/decode/launch.hpp>
#include <kernels/shared_memory.hpp>

#include <algorithm>
#include <kernels/decode/decode_kernel.cuh>
#include <type_traits>

namespace nanoserve {
namespace {

struct LaunchShape {
    dim3 grid;
    int num_warps;  // of a thread block
    int shared_bytes;
    int cluster_size = 1;  // thread blocks
    bool overlap = false;  // starts while the kernel before it ends
};

void launch_kernel(void (*kernel)(DecodeArgs), const LaunchShape& shape, const DecodeArgs& args,
                   cudaStream_t stream) {
    cudaLaunchAttribute attributes[2] = {};
    cudaLaunchConfig_t config = {};
    config.gridDim = shape.grid;
    config.blockDim = static_cast<unsigned>(kWarpSize * shape.num_warps);
    config.dynamicSmemBytes = static_cast<std::size_t>(shape.shared_bytes);
    config.stream = stream;
    config.attrs = attributes;
    if (shape.cluster_size > 1) {
        cudaLaunchAttribute& cluster = attributes[config.numAttrs++];
        cluster.id = cudaLaunchAttributeClusterDimension;
        cluster.val.clusterDim = {static_cast<unsigned>(shape.cluster_size), 1, 1};
    }
    if (shape.overlap) {
        cudaLaunchAttribute& overlap = attributes[config.numAttrs++];
        overlap.id = cudaLaunchAttributeProgrammaticStreamSerialization;
        overlap.val.programmaticStreamSerializationAllowed = 1;
    }
    allow_shared_memory(reinterpret_cast<const void*>(kernel), shape.shared_bytes);
    NANOSERVE_CUDA_TRY(cudaLaunchKernelEx(&config, kernel, args));
}

template <class Config>
void launch(const DecodeChoice& choice, const DecodeArgs& args, cudaStream_t stream) {
    constexpr std::int32_t kMaxGridY = 65535;
    const std::int32_t grid_y = std::min(args.num_seqs, kMaxGridY);
    LaunchShape shape = {
        .grid = {static_cast<unsigned>(args.num_kv_heads >> args.heads_log2 << args.splits_log2),
                 static_cast<unsigned>(grid_y),
                 static_cast<unsigned>((std::int64_t{args.num_seqs} + grid_y - 1) / grid_y)},
        .num_warps = 1 << args.warps_log2,
        .shared_bytes = args.memory.num_bytes,
        .cluster_size = 1 << args.splits_log2,
        .overlap = choice.overlap};
    const bool is_one_tile = args.max_seq_len <= Config::kTileTokens &&
                             args.warps_log2 == args.heads_log2 && args.splits_log2 == 0;
    if (is_one_tile) {
        shape.shared_bytes = Config::kStageBytes << args.heads_log2;
        return launch_kernel(decode_tile_kernel<Config>, shape, args, stream);
    }
    launch_kernel(decode_kernel<Config>, shape, args, stream);
}

template <class Config>
void launch_balanced(const DecodeChoice& choice, DecodeArgs args, cudaStream_t stream) {
    const std::int32_t owners = args.num_seqs * (args.num_kv_heads >> args.heads_log2);
    args.num_resident = choice.num_sms * Config::kBlocksPerSm;
    launch_kernel(balanced_decode_kernel<Config>,
                  {.grid = static_cast<unsigned>(owners + args.num_resident),
                   .num_warps = 1 << args.warps_log2,
                   .shared_bytes = args.memory.num_bytes,
                   .overlap = choice.overlap},
                  args, stream);
}

// The rest of a configuration for q of type T and rows of Stored.
template <class T, class Stored, int kHeadDim, class Action>
void visit_reading(const DecodeChoice& choice, Action action) {
    const auto choose = [&]<int kHeadTiles>() {
        if (choice.block_size < 16 || choice.has_rules) {
            action
                .template operator()<DecodeConfig<T, kHeadDim, kHeadTiles, false, true, Stored>>();
        } else if (choice.evict_first) {
            action
                .template operator()<DecodeConfig<T, kHeadDim, kHeadTiles, true, false, Stored>>();
        } else {
            action
                .template operator()<DecodeConfig<T, kHeadDim, kHeadTiles, false, false, Stored>>();
        }
    };
    if (choice.group_size <= 8) {
        choose.template operator()<1>();
    } else {
        choose.template operator()<2>();
    }
}

template <class T, class Stored, class Action>
void visit_head_dim(const DecodeChoice& choice, Action action) {
    switch (choice.head_dim) {
        case 64:
            return visit_reading<T, Stored, 64>(choice, action);
        case 128:
            return visit_reading<T, Stored, 128>(choice, action);
        case 256:
            return visit_reading<T, Stored, 256>(choice, action);
        default:
            break;
    }
    if constexpr (!std::is_same_v<Stored, Fp8E4m3>) {
        if (choice.head_dim == 96) {
            visit_reading<T, Stored, 96>(choice, action);
        } else {
            visit_reading<T, Stored, 192>(choice, action);
        }
    }
}

}  // namespace

template <class T, class Stored>
void launch_decode(const DecodeChoice& choice, const DecodeArgs& args, cudaStream_t stream) {
    visit_head_dim<T, Stored>(choice, [&]<class Config>() {
        if (!choice.balance) {
            launch<Config>(choice, args, stream);
        } else if constexpr (Config::kCanBalance) {
            launch_balanced<Config>(choice, args, stream);
        }
    });
}

}  // namespace nanoserve
