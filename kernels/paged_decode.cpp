// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// The host's side of paged_decode: checks, the plan, the arguments. The kernel is in
// decode/decode_kernel.cuh, its launches in decode/decode_launch.cuh.
#include <nanoserve/model/require.hpp>

#include <kernels/cuda_error.hpp>
#include <kernels/decode/compiled_for.hpp>
#include <kernels/decode/launch.hpp>
#include <kernels/decode/partial_layout.hpp>
#include <kernels/general/config.hpp>
#include <kernels/paged_decode.hpp>
#include <kernels/shared_memory.hpp>

#include <bit>
#include <cstddef>
#include <map>
#include <mutex>

namespace nanoserve {
namespace {

std::uint8_t log2_of(std::int32_t power) {
    return static_cast<std::uint8_t>(std::countr_zero(static_cast<unsigned>(power)));
}

// Tokens of a window that hides some, else 0.
std::int64_t window_of(const PagedAttentionParams& params) {
    return params.rules.sliding_window < params.max_tokens() ? params.rules.sliding_window : 0;
}

DecodeArgs make_args(const PagedAttentionParams& params, const DecodePlan& plan,
                     const DecodeLoad& load, std::uint32_t* status) {
    constexpr float kLog2E = 1.44269504f;
    const PagedAttentionArgs checked = make_paged_attention_args(params, status);
    const KVLayout& layout = params.kv.layout;
    const std::int64_t bytes = bytes_of(layout.dtype);
    const std::int32_t group_size = params.num_q_heads / layout.num_kv_heads;
    return {.k_cache = static_cast<const char*>(params.kv.k_cache),
            .v_cache = static_cast<const char*>(params.kv.v_cache),
            .q = params.q,
            .out = params.out,
            .block_tables = params.block_tables,
            .seq_lens = params.seq_lens,
            .q_stride = checked.q_stride,
            .block_bytes = static_cast<std::uint32_t>(layout.block_stride * bytes),
            .head_bytes = static_cast<std::uint32_t>(layout.head_stride * bytes),
            .token_bytes = static_cast<std::uint32_t>(layout.token_stride * bytes),
            .max_blocks_per_seq = static_cast<std::int32_t>(params.max_blocks_per_seq),
            .max_seq_len = static_cast<std::int32_t>(params.max_tokens()),
            .num_blocks = layout.num_blocks,
            .num_seqs = static_cast<std::int32_t>(params.num_seqs),
            .num_q_heads = params.num_q_heads,
            .group_size = group_size,
            .scale = checked.sm_scale * kLog2E,
            .block_size_log2 = log2_of(layout.block_size),
            .warps_log2 = log2_of(plan.num_warps),
            .heads_log2 = log2_of(plan.heads_per_block),
            .splits_log2 = log2_of(plan.num_splits),
            .pairs_log2 = static_cast<std::uint8_t>(LiveEntries::pairs_log2_of(group_size)),
            .status = status,
            .scales = params.kv.scales,
            .memory = divide_memory(plan, load),
            .lse = params.lse,
            .num_kv_heads = layout.num_kv_heads,
            .window = static_cast<std::int32_t>(window_of(params)),
            .sinks = params.rules.sinks,
            .num_resident = 0,
            .workspace = {}};
}

// Where the partial results of a workspace start and where it ends, in bytes. The counters of
// arrivals in front, which have to be 0, have the same place for every batch: the parts of one
// would stand in the counters of a larger one else. A balanced launch may have two parts of each
// row under way, and one more of each helper.
struct WorkspaceOffsets {
    std::size_t partials, end;
};

WorkspaceOffsets workspace_offsets(const PagedAttentionParams& params, int num_sms) {
    const KVLayout& layout = params.kv.layout;
    const std::int64_t rows = params.num_seqs * layout.num_kv_heads;
    const std::int32_t group_size = params.num_q_heads / layout.num_kv_heads;
    const int head_tiles = (group_size + 7) / 8;
    constexpr std::int64_t arrivals = kMaxBalancedRows * std::int64_t{sizeof(unsigned)};
    const std::int64_t partials = (2 * rows + kMaxBlocksPerSm * num_sms) * head_tiles *
                                  fragment_set_bytes(layout.head_dim / 16);
    return {static_cast<std::size_t>(arrivals), static_cast<std::size_t>(arrivals + partials)};
}

DecodeWorkspace divide(const Workspace& workspace, const PagedAttentionParams& params,
                       int num_sms) {
    const WorkspaceOffsets offsets = workspace_offsets(params, num_sms);
    require(workspace.data != nullptr, "the workspace is null");
    require(workspace.num_bytes >= offsets.end, "the workspace has ", workspace.num_bytes,
            " bytes; this launch takes ", offsets.end);
    require(reinterpret_cast<std::uintptr_t>(workspace.data) % 16 == 0,
            "the workspace must be a multiple of 16 bytes");
    auto* data = static_cast<std::byte*>(workspace.data);
    return {.arrivals = reinterpret_cast<unsigned*>(data),
            .partials = reinterpret_cast<char*>(data + offsets.partials)};
}

void require_decodable(const PagedAttentionParams& params) {
    validate_sizes(params);
    const auto reason = reason_not_to_decode(params);
    require(!reason.has_value(), reason.value_or(""));
}

void require_plan(const DecodePlan& plan, std::int32_t num_kv_heads) {
    for (const auto& [name, value] : {std::pair{"num_warps", plan.num_warps},
                                      std::pair{"heads_per_block", plan.heads_per_block},
                                      std::pair{"num_splits", plan.num_splits}}) {
        require(value >= 1 && value <= 8 && std::has_single_bit(static_cast<unsigned>(value)), name,
                " is ", value, "; it must be 1, 2, 4 or 8");
    }
    require(plan.heads_per_block <= plan.num_warps, "heads_per_block is ", plan.heads_per_block,
            "; there are ", plan.num_warps, " warps");
    require(num_kv_heads % plan.heads_per_block == 0, "heads_per_block is ", plan.heads_per_block,
            "; it must divide ", num_kv_heads, " KV heads");
    require(!plan.balance || (plan.num_splits == 1 && plan.evict_first),
            "a balanced plan has no splits, and evicts first");
}

DecodeDevice describe(int device) {
    int num_sms = 0, major = 0;
    NANOSERVE_CUDA_TRY(cudaDeviceGetAttribute(&num_sms, cudaDevAttrMultiProcessorCount, device));
    NANOSERVE_CUDA_TRY(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device));
    return {.num_sms = num_sms,
            .has_clusters = can_use_clusters(major, compiled_for()),
            .max_shared_bytes = shared_bytes_of_current_device()};
}

// Every launch asks.
DecodeDevice current_device() {
    static std::mutex mutex;
    static std::map<int, DecodeDevice> known;
    int device = 0;
    NANOSERVE_CUDA_TRY(cudaGetDevice(&device));
    const std::scoped_lock lock(mutex);
    if (const auto found = known.find(device); found != known.end()) {
        return found->second;
    }
    return known[device] = describe(device);
}

// Of parameters that are decodable.
void launch_planned(const PagedAttentionParams& params, const DecodePlan& plan, cudaStream_t stream,
                    std::uint32_t* status, Workspace workspace, LaunchOrder order) {
    const KVLayout& layout = params.kv.layout;
    require_plan(plan, layout.num_kv_heads);
    require(!plan.balance || window_of(params) == 0, "a balanced plan has no sliding window");
    const DecodeLoad load = load_of(params, true);
    require(!plan.balance || can_balance(load),
            "the batch has too many KV heads and tokens for a balanced plan");
    DecodeArgs args = make_args(params, plan, load, status);
    if (params.num_seqs == 0) {
        return;
    }
    const bool overlaps = order == LaunchOrder::overlapping_previous;
    const DecodeDevice device = current_device();
    require(plan.num_splits == 1 || device.has_clusters, "num_splits is ", plan.num_splits,
            "; without clusters, of code compiled for compute capability 9.0, it must be 1");
    require(args.memory.num_bytes <= device.max_shared_bytes, "the plan takes ",
            args.memory.num_bytes, " bytes of shared memory; a thread block has ",
            device.max_shared_bytes);
    if (plan.balance) {
        args.workspace = divide(workspace, params, device.num_sms);
    }
    const DecodeChoice choice = {
        .head_dim = layout.head_dim,
        .group_size = args.group_size,
        .block_size = layout.block_size,
        .evict_first = plan.evict_first,
        .balance = plan.balance,
        .has_rules = window_of(params) > 0 || params.rules.sinks != nullptr,
        .overlap = overlaps && device.has_clusters,
        .num_sms = device.num_sms};
    const auto launch = [&]<class T>() {
        if (layout.dtype == DType::fp8_e4m3) {
            launch_decode<T, Fp8E4m3>(choice, args, stream);
        } else {
            launch_decode<T, T>(choice, args, stream);
        }
    };
    if (params.io_dtype == DType::bf16) {
        launch.template operator()<Bf16>();
    } else {
        launch.template operator()<Fp16>();
    }
}

}  // namespace

std::size_t paged_decode_workspace_bytes(const PagedAttentionParams& params) {
    validate_sizes(params);
    return workspace_offsets(params, current_device().num_sms).end;
}

void paged_decode(const PagedAttentionParams& params, const DecodePlan& plan, cudaStream_t stream,
                  std::uint32_t* status, Workspace workspace, LaunchOrder order) {
    require_decodable(params);
    launch_planned(params, plan, stream, status, workspace, order);
}

void paged_decode(const PagedAttentionParams& params, cudaStream_t stream, std::uint32_t* status,
                  Workspace workspace, LaunchOrder order) {
    require_decodable(params);
    const DecodeLoad load = load_of(params, workspace.data != nullptr);
    launch_planned(params, plan_decode(load, current_device()), stream, status, workspace, order);
}

}  // namespace nanoserve
