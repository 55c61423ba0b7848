// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// gather_attention: rebuild every history in order, then ordinary attention over it.
// Data     pools as their KVLayout says, block_tables [num_seqs, max_blocks_per_seq] int32
//          workspace: k, then v, each [num_seqs, max_tokens, num_kv_heads, head_dim]
//          q, out [num_seqs, num_q_heads, head_dim], of the pool's dtype or, over fp8 pools, of
//          fp16 or bf16; lse [num_seqs, num_q_heads]
// Work     gather_history: a thread copies 16 bytes of K and of V at a time.
//          contiguous_attention: one thread block for each (query head, sequence); its warps take
//          groups of tokens_at_once tokens in turn, a lane holds every 32nd element of a row.
// Traffic  KV bytes read, written and read again; the last group_size times, mostly from L2.
// Steps    contiguous_attention: load q -> online softmax in each warp -> merge_warps -> write.
// Edges    an empty or wholly absent history: out = 0, lse = -inf.
// Tests    tests/kernels/gather_attention_test.cpp
// The attention is plain on purpose: it is what there was before Day 21, not a kernel to admire.
#include <nanoserve/model/require.hpp>

#include <kernels/cuda_error.hpp>
#include <kernels/gather_attention.hpp>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <kernels/launch.cuh>
#include <limits>

namespace nanoserve {
namespace {

constexpr int kWarpSize = 32;
constexpr int kWordBytes = sizeof(uint4);
constexpr int kMaxHeadDim = 256;

struct GatherConfig {
    static constexpr int num_threads = 256;
    static constexpr int rows_in_flight = 4;  // that each thread has a word of, in K and in V
};

struct AttentionConfig {
    // As many threads for a query head as general_attention has: what differs is the copy, not the
    // number of loads in flight.
    static constexpr int num_threads = 128;
    static constexpr int num_warps = num_threads / kWarpSize;
    static constexpr int tokens_at_once = 4;  // of one warp: their loads don't wait for each other
};

// Where the gathered rows lie.
struct Workspace {
    void* k;                  // [num_seqs, max_tokens, num_kv_heads, head_dim]
    void* v;                  // the same
    std::int64_t max_tokens;  // of one sequence
};

// The length of a sequence, cut to what its table can hold.
__device__ int num_tokens_of(const PagedAttentionParams& p, const Workspace& workspace, int seq) {
    const std::int64_t seq_len = p.seq_lens[seq];
    return static_cast<int>(max(std::int64_t{0}, min(seq_len, workspace.max_tokens)));
}

// The block of a token, -1 when it is outside the pool.
__device__ BlockId block_of(const PagedAttentionParams& p, int seq, int token) {
    const KVLayout& layout = p.kv.layout;
    const BlockId id = p.block_tables[seq * p.max_blocks_per_seq + token / layout.block_size];
    return static_cast<unsigned>(id) < static_cast<unsigned>(layout.num_blocks) ? id : -1;
}

// blockIdx = (piece, sequence); threadIdx = (word of a row, row of a group). Rows are counted over
// tokens and heads, heads fastest.
__global__ void __launch_bounds__(GatherConfig::num_threads)
    gather_history(PagedAttentionParams p, Workspace workspace, int log2_elements_per_word) {
    const KVLayout& layout = p.kv.layout;
    const int seq = static_cast<int>(blockIdx.y);
    const int num_rows = num_tokens_of(p, workspace, seq) * layout.num_kv_heads;
    const std::int64_t words_per_row = blockDim.x;
    const std::int64_t first_row = seq * workspace.max_tokens * layout.num_kv_heads;
    const auto* k_pool = static_cast<const uint4*>(p.kv.k_cache);
    const auto* v_pool = static_cast<const uint4*>(p.kv.v_cache);
    auto* k_out = static_cast<uint4*>(workspace.k) + first_row * words_per_row + threadIdx.x;
    auto* v_out = static_cast<uint4*>(workspace.v) + first_row * words_per_row + threadIdx.x;

    const int group_rows = static_cast<int>(blockDim.y);
    const int step_rows = group_rows * GatherConfig::rows_in_flight;
    for (int begin = static_cast<int>(blockIdx.x) * step_rows; begin < num_rows;
         begin += static_cast<int>(gridDim.x) * step_rows) {
        uint4 k_words[GatherConfig::rows_in_flight];
        uint4 v_words[GatherConfig::rows_in_flight];
        bool is_present[GatherConfig::rows_in_flight];
#pragma unroll
        for (int i = 0; i < GatherConfig::rows_in_flight; ++i) {
            const int row = begin + i * group_rows + static_cast<int>(threadIdx.y);
            const int token = row / layout.num_kv_heads;
            const BlockId id = row < num_rows ? block_of(p, seq, token) : -1;
            is_present[i] = id >= 0;
            if (is_present[i]) {
                const std::int64_t word =
                    (layout.offset(id, token % layout.block_size, row % layout.num_kv_heads) >>
                     log2_elements_per_word) +
                    threadIdx.x;
                k_words[i] = k_pool[word];
                v_words[i] = v_pool[word];
            }
        }
#pragma unroll
        for (int i = 0; i < GatherConfig::rows_in_flight; ++i) {
            const std::int64_t row = begin + i * group_rows + static_cast<int>(threadIdx.y);
            if (is_present[i]) {
                k_out[row * words_per_row] = k_words[i];
                v_out[row * words_per_row] = v_words[i];
            }
        }
    }
}

// What a warp knows after the tokens that it has seen, with scores s[t]:
// max = max s[t], sum = sum of exp(s[t] - max), acc[d] = sum of exp(s[t] - max) * v[t, d].
template <int kPerLane>
struct SoftmaxState {
    float max = -INFINITY;
    float sum = 0.0f;
    float acc[kPerLane] = {};  // element lane + 32 * i
};

template <class T, int kPerLane>
__device__ void load_row(const T* row, int head_dim, float (&elements)[kPerLane]) {
    const int lane = static_cast<int>(threadIdx.x) % kWarpSize;
#pragma unroll
    for (int i = 0; i < kPerLane; ++i) {
        const int d = lane + kWarpSize * i;
        elements[i] = d < head_dim ? to_float(row[d]) : 0.0f;
    }
}

// The same value in all lanes.
template <int kPerLane>
__device__ float dot(const float (&a)[kPerLane], const float (&b)[kPerLane]) {
    float sum = 0.0f;
#pragma unroll
    for (int i = 0; i < kPerLane; ++i) {
        sum += a[i] * b[i];
    }
#pragma unroll
    for (int distance = kWarpSize / 2; distance > 0; distance /= 2) {
        sum += __shfl_xor_sync(0xffffffffu, sum, distance);
    }
    return sum;
}

// Takes in tokens_at_once tokens; a score of -inf marks one that is absent.
template <int kPerLane, int kTokens>
__device__ void update(SoftmaxState<kPerLane>& state, const float (&scores)[kTokens],
                       const float (&v_rows)[kTokens][kPerLane]) {
    float new_max = state.max;
    for (const float score : scores) {
        new_max = fmaxf(new_max, score);
    }
    // Nothing seen so far, or NaN alone, which a maximum leaves out: (-inf) - (-inf) would be NaN.
    const float reference = new_max == -INFINITY ? 0.0f : new_max;
    const float rescale = expf(state.max - reference);
    state.max = new_max;
    state.sum *= rescale;
#pragma unroll
    for (float& each : state.acc) {
        each *= rescale;
    }
#pragma unroll
    for (int t = 0; t < kTokens; ++t) {
        const float weight = expf(scores[t] - reference);
        state.sum += weight;
#pragma unroll
        for (int i = 0; i < kPerLane; ++i) {
            state.acc[i] += weight * v_rows[t][i];
        }
    }
}

struct WarpStates {
    float max[AttentionConfig::num_warps];
    float sum[AttentionConfig::num_warps];
    float acc[AttentionConfig::num_warps][kMaxHeadDim];
};

template <int kPerLane>
__device__ void store_state(const SoftmaxState<kPerLane>& state, int head_dim, WarpStates& s) {
    const int warp = static_cast<int>(threadIdx.x) / kWarpSize;
    const int lane = static_cast<int>(threadIdx.x) % kWarpSize;
    s.max[warp] = state.max;  // all lanes write the same
    s.sum[warp] = state.sum;
    for (int i = 0; i < kPerLane; ++i) {
        if (lane + kWarpSize * i < head_dim) {
            s.acc[warp][lane + kWarpSize * i] = state.acc[i];
        }
    }
}

// out[d] = sum over warps of exp(max_w - max) acc_w[d] / sum over warps of exp(max_w - max) sum_w
template <class T>
__device__ void merge_warps(const WarpStates& s, int head_dim, float v_scale, T* out, float* lse) {
    float max = -INFINITY;
    for (const float each : s.max) {
        max = fmaxf(max, each);
    }
    const float reference = max == -INFINITY ? 0.0f : max;
    float sum = 0.0f;
    for (int warp = 0; warp < AttentionConfig::num_warps; ++warp) {
        sum += expf(s.max[warp] - reference) * s.sum[warp];
    }
    for (int d = static_cast<int>(threadIdx.x); d < head_dim; d += AttentionConfig::num_threads) {
        float acc = 0.0f;
        for (int warp = 0; warp < AttentionConfig::num_warps && sum != 0.0f; ++warp) {
            acc += expf(s.max[warp] - reference) * s.acc[warp][d];
        }
        out[d] = from_float<T>(sum != 0.0f ? acc / sum * v_scale : 0.0f);
    }
    if (lse != nullptr && threadIdx.x == 0) {
        *lse = sum != 0.0f ? max + logf(sum) : -INFINITY;
    }
}

// blockIdx = (query head, sequence); warps take groups of tokens in turn. T is the type of q and
// out, Pool that of the rows.
template <class T, class Pool, int kPerLane>
__global__ void __launch_bounds__(AttentionConfig::num_threads)
    contiguous_attention(PagedAttentionParams p, Workspace workspace, float sm_scale) {
    using Config = AttentionConfig;
    const int head = static_cast<int>(blockIdx.x);
    const int seq = static_cast<int>(blockIdx.y);
    const int num_kv_heads = p.kv.layout.num_kv_heads;
    const int head_dim = p.kv.layout.head_dim;
    const int kv_head = head / (p.num_q_heads / num_kv_heads);
    const int num_tokens = num_tokens_of(p, workspace, seq);
    const std::int64_t token_stride = std::int64_t{num_kv_heads} * head_dim;
    const std::int64_t first = seq * workspace.max_tokens * token_stride + kv_head * head_dim;
    const auto* k = static_cast<const Pool*>(workspace.k) + first;  // [num_tokens, head_dim]
    const auto* v = static_cast<const Pool*>(workspace.v) + first;  // the same, strided as well
    const float score_scale = sm_scale * p.kv.scales.k.of_head(kv_head);
    const std::int64_t q_stride =
        p.q_stride == 0 ? std::int64_t{p.num_q_heads} * head_dim : p.q_stride;

    float q[kPerLane];
    load_row(static_cast<const T*>(p.q) + seq * q_stride + std::int64_t{head} * head_dim, head_dim,
             q);
    SoftmaxState<kPerLane> state;
    const int warp = static_cast<int>(threadIdx.x) / kWarpSize;
    for (int begin = warp * Config::tokens_at_once; begin < num_tokens;
         begin += Config::num_warps * Config::tokens_at_once) {
        float k_rows[Config::tokens_at_once][kPerLane] = {};
        float v_rows[Config::tokens_at_once][kPerLane] = {};
        float scores[Config::tokens_at_once];
#pragma unroll
        for (int t = 0; t < Config::tokens_at_once; ++t) {
            const int token = begin + t;
            const bool is_present = token < num_tokens && block_of(p, seq, token) >= 0;
            scores[t] = is_present ? 0.0f : -INFINITY;
            if (is_present) {
                load_row(k + token * token_stride, head_dim, k_rows[t]);
                load_row(v + token * token_stride, head_dim, v_rows[t]);
            }
        }
#pragma unroll
        for (int t = 0; t < Config::tokens_at_once; ++t) {
            scores[t] += score_scale * dot(q, k_rows[t]);
        }
        update(state, scores, v_rows);
    }

    __shared__ WarpStates s_states;
    store_state(state, head_dim, s_states);
    __syncthreads();  // all writes to s_states visible
    const std::int64_t row = std::int64_t{seq} * p.num_q_heads + head;
    merge_warps(s_states, head_dim, p.kv.scales.v.of_head(kv_head),
                static_cast<T*>(p.out) + row * head_dim, p.lse == nullptr ? nullptr : p.lse + row);
}

void validate_for_gather(const PagedAttentionParams& p) {
    const KVLayout& layout = p.kv.layout;
    validate_sizes(p);
    require_no_rules(p.rules, "gather_attention");
    const std::int64_t element_bytes = bytes_of(layout.dtype);
    const bool is_fp8 = layout.dtype == DType::fp8_e4m3;
    require(!is_fp8 || p.io_dtype == DType::fp16 || p.io_dtype == DType::bf16, "io_dtype is ",
            to_string(p.io_dtype), "; over pools of fp8_e4m3 gather_attention takes fp16 and bf16");
    require(is_fp8 || p.io_dtype == layout.dtype, "io_dtype is ", to_string(p.io_dtype),
            ", the pool's is ", to_string(layout.dtype), "; gather_attention takes one dtype");
    require(layout.head_dim <= kMaxHeadDim, "head_dim is ", layout.head_dim,
            "; gather_attention takes at most ", kMaxHeadDim);
    for (const auto& [name, elements] : {std::pair{"head_dim", std::int64_t{layout.head_dim}},
                                         std::pair{"block_stride", layout.block_stride},
                                         std::pair{"token_stride", layout.token_stride},
                                         std::pair{"head_stride", layout.head_stride}}) {
        require(elements * element_bytes % kWordBytes == 0, name, " is ", elements * element_bytes,
                " bytes; gather_attention takes multiples of ", kWordBytes);
    }
    // Offsets within a token have 32 bits: with 64, some of the kernels need more registers.
    constexpr std::int64_t kMaxTokenElements = std::numeric_limits<std::int32_t>::max();
    const std::int64_t token_elements = std::int64_t{layout.num_kv_heads} * layout.head_dim;
    require(token_elements <= kMaxTokenElements, "K of a token has ", token_elements,
            " elements; gather_attention takes ", kMaxTokenElements);
    constexpr std::int64_t kMaxGridY = 65535;
    constexpr std::int64_t kMaxRows = std::int64_t{1}
                                      << 30;  // so that a step beyond fits in an int
    require(p.num_seqs <= kMaxGridY, "num_seqs is ", p.num_seqs, "; gather_attention takes 0 to ",
            kMaxGridY);
    require(p.max_tokens() <= kMaxRows / layout.num_kv_heads, "max_blocks_per_seq is ",
            p.max_blocks_per_seq, "; gather_attention takes ", kMaxRows, " rows");
}

void launch_gather(const PagedAttentionParams& p, const Workspace& workspace, cudaStream_t stream) {
    const KVLayout& layout = p.kv.layout;
    const std::int64_t elements_per_word = kWordBytes / bytes_of(layout.dtype);
    const auto words_per_row = static_cast<unsigned>(layout.head_dim / elements_per_word);
    const unsigned group_rows = GatherConfig::num_threads / words_per_row;
    const std::int64_t step_rows = std::int64_t{group_rows} * GatherConfig::rows_in_flight;
    const std::int64_t num_rows = workspace.max_tokens * layout.num_kv_heads;
    const std::int64_t num_pieces = (num_rows + step_rows - 1) / step_rows;
    const dim3 grid(static_cast<unsigned>(std::clamp<std::int64_t>(num_pieces, 1, 2048)),
                    static_cast<unsigned>(p.num_seqs));
    const int log2_elements_per_word = std::countr_zero(static_cast<unsigned>(elements_per_word));
    NANOSERVE_CUDA_TRY(launch_kernel(gather_history, grid, dim3(words_per_row, group_rows), 0,
                                     stream, p, workspace, log2_elements_per_word));
}

template <class T, class Pool>
void launch_attention(const PagedAttentionParams& p, const Workspace& workspace,
                      cudaStream_t stream) {
    const dim3 grid(static_cast<unsigned>(p.num_q_heads), static_cast<unsigned>(p.num_seqs));
    const float sm_scale = effective_sm_scale(p.sm_scale, p.kv.layout.head_dim);
    auto* kernel = contiguous_attention<T, Pool, kMaxHeadDim / kWarpSize>;
    if (p.kv.layout.head_dim <= 2 * kWarpSize) {
        kernel = contiguous_attention<T, Pool, 2>;
    } else if (p.kv.layout.head_dim <= 4 * kWarpSize) {
        kernel = contiguous_attention<T, Pool, 4>;
    }
    NANOSERVE_CUDA_TRY(launch_kernel(kernel, grid, AttentionConfig::num_threads, 0, stream, p,
                                     workspace, sm_scale));
}

}  // namespace

std::size_t gather_workspace_bytes(const PagedAttentionParams& params) {
    validate_for_gather(params);
    const KVLayout& layout = params.kv.layout;
    const std::int64_t num_rows = params.num_seqs * params.max_tokens() * layout.num_kv_heads;
    return static_cast<std::size_t>(2 * num_rows * layout.head_dim * bytes_of(layout.dtype));
}

void gather_attention(const PagedAttentionParams& params, void* workspace,
                      std::size_t workspace_bytes, cudaStream_t stream) {
    const std::size_t needed = gather_workspace_bytes(params);
    require(workspace_bytes >= needed, "the workspace has ", workspace_bytes,
            " bytes; gather_attention needs ", needed);
    require(needed == 0 || workspace != nullptr, "workspace is null");
    const auto is_aligned = [](const void* pointer) {
        return reinterpret_cast<std::uintptr_t>(pointer) % kWordBytes == 0;
    };
    require(is_aligned(workspace) && is_aligned(params.kv.k_cache) && is_aligned(params.kv.v_cache),
            "workspace, k_cache and v_cache must be multiples of ", kWordBytes, " bytes");
    if (params.num_seqs == 0) {
        return;
    }
    const Workspace rows = {.k = workspace,
                            .v = static_cast<std::byte*>(workspace) + needed / 2,
                            .max_tokens = params.max_tokens()};
    launch_gather(params, rows, stream);
    visit_io_dtype(params.io_dtype, [&]<class T>() {
        if (params.kv.layout.dtype != DType::fp8_e4m3) {
            return launch_attention<T, T>(params, rows, stream);
        }
        if constexpr (sizeof(T) == 2) {
            launch_attention<T, Fp8E4m3>(params, rows, stream);
        }
    });
}

}  // namespace nanoserve
