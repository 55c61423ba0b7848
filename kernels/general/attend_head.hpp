// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanoserve/model/dtype.hpp>

#include <kernels/general/config.hpp>
#include <kernels/general/host_device.hpp>
#include <kernels/general/online_softmax.hpp>
#include <kernels/general/ruled_score.hpp>

#include <cstdint>

// The body of general_attention, for the GPU and for its CPU twin; see general_attention.cu.
//
// It is a list of steps. team.each(step) runs step(thread) on every thread of the thread block and
// then waits for all of them; the comment behind it says for what. Between two steps all threads
// compute the same values from the same shared memory, so a plain variable is enough. What a thread
// keeps for itself is a Team::PerThread: registers on the GPU, an array in the twin.
//
// All reads of the cache go through a Memory:
//   seq_len()                     tokens of the sequence, as the caller says
//   block_id(i)                   entry i of its table
//   key_row(block, slot)[d]       element d of a K row of this query head's KV head, as float
//   value_row(block, slot)[d]     the same of a V row
//   report(bits)                  sets bits of the status word

namespace nanoserve {

/// The query head of one thread block.
struct QueryHead {
    std::int64_t seq = 0;      ///< sequence in the batch
    std::int32_t head = 0;     ///< query head
    std::int32_t kv_head = 0;  ///< the KV head that it reads
};

/// Some tokens of one KV block: slots [first_slot, first_slot + num_tokens).
struct TokenStep {
    BlockId block = 0;
    std::int32_t first_slot = 0;
    std::int32_t num_tokens = 0;  ///< 1 to Config::kStepTokens
    std::int64_t position = 0;    ///< of the first: 0 for the newest token, else negative
};

/// What the threads of one thread block share.
template <class Config>
struct PagedAttentionShared {
    float q[Config::kMaxHeadDim];  // [head_dim]
    float partial_dots[Config::kStepTokens]
                      [Config::kNumLanes + 1];                   // [token, lane], + 1: see below
    float scores[Config::kStepTokens];                           // [token]
    float weights[Config::kStepTokens];                          // [token]
    float partial_sums[Config::kNumWarps];                       // [warp]
    float partial_outs[Config::kNumWarps][Config::kMaxHeadDim];  // [warp, head_dim]
    // The extra column of partial_dots puts the dots of 32 tokens into 32 different banks where one
    // thread per token adds up its row.
};

/// What a lane carries from step to step: the sums over the tokens that its warp has read.
template <class Config>
struct LaneSums {
    float weights = 0.0f;                         // sum of weights, the same in all lanes
    float values[Config::kElementsPerLane] = {};  // sums of weight * v, element lane + 32 j
};

/// Element `index` of q, whatever its type.
NANOSERVE_DEVICE inline float load_element(const void* data, DType dtype, std::int64_t index) {
    switch (dtype) {
        case DType::fp16:
            return to_float(static_cast<const Fp16*>(data)[index]);
        case DType::bf16:
            return to_float(static_cast<const Bf16*>(data)[index]);
        case DType::fp32:
        case DType::fp8_e4m3:  // which neither q nor out is
            break;
    }
    return static_cast<const float*>(data)[index];
}

/// Sets element `index` of out, whatever its type.
NANOSERVE_DEVICE inline void store_element(void* data, DType dtype, std::int64_t index, float x) {
    switch (dtype) {
        case DType::fp16:
            static_cast<Fp16*>(data)[index] = from_float<Fp16>(x);
            return;
        case DType::bf16:
            static_cast<Bf16*>(data)[index] = from_float<Bf16>(x);
            return;
        case DType::fp32:
        case DType::fp8_e4m3:
            static_cast<float*>(data)[index] = x;
            return;
    }
}

// q times the scale of K: one product for each element of q instead of one for each element of K.
template <class Config>
NANOSERVE_DEVICE void load_query(const PagedAttentionArgs& args, QueryHead query, int thread,
                                 PagedAttentionShared<Config>& s) {
    const std::int32_t head_dim = args.params.kv.layout.head_dim;
    const std::int64_t first = query.seq * args.q_stride + std::int64_t{query.head} * head_dim;
    const float k_scale = args.params.kv.scales.k.of_head(query.kv_head);
    for (int d = thread; d < head_dim; d += Config::kNumThreads) {
        s.q[d] = load_element(args.params.q, args.params.io_dtype, first + d) * k_scale;
    }
}

//! [dot keys]
// A warp takes one K row at a time; neighbouring lanes read neighbouring elements.
template <class Config, class Memory>
NANOSERVE_DEVICE void dot_keys(Memory& memory, const TokenStep& step, std::int32_t head_dim,
                               int thread, PagedAttentionShared<Config>& s) {
    const int warp = thread / Config::kNumLanes;
    const int lane = thread % Config::kNumLanes;
    NANOSERVE_UNROLL_4
    for (int token = warp; token < step.num_tokens; token += Config::kNumWarps) {
        const auto key = memory.key_row(step.block, step.first_slot + token);  // [head_dim]
        float dot = 0.0f;
        NANOSERVE_UNROLL
        for (int j = 0; j < Config::kElementsPerLane; ++j) {
            const int d = lane + j * Config::kNumLanes;
            if (Config::has_element(d, head_dim)) {
                dot += s.q[d] * key[d];
            }
        }
        s.partial_dots[token][lane] = dot;
    }
}
//! [dot keys]

// One thread for each token adds up what the lanes found.
template <class Config>
NANOSERVE_DEVICE void finish_scores(const PagedAttentionArgs& args, QueryHead query,
                                    const TokenStep& step, int thread,
                                    PagedAttentionShared<Config>& s) {
    if (thread < step.num_tokens) {
        float dot = 0.0f;
        NANOSERVE_UNROLL
        for (int lane = 0; lane < Config::kNumLanes; ++lane) {
            dot += s.partial_dots[thread][lane];
        }
        s.scores[thread] =
            ruled_score(args.params.rules, query.head, dot * args.sm_scale, step.position + thread);
    }
}

//! [add values]
// A warp takes one V row at a time, as for the keys; its sums move to the new maximum first.
template <class Config, class Memory>
NANOSERVE_DEVICE void add_values(Memory& memory, const TokenStep& step, std::int32_t head_dim,
                                 float rescale, int thread, const PagedAttentionShared<Config>& s,
                                 LaneSums<Config>& sums) {
    const int warp = thread / Config::kNumLanes;
    const int lane = thread % Config::kNumLanes;
    LaneSums<Config> added;  // of this step alone: short sums round less
    NANOSERVE_UNROLL_4
    for (int token = warp; token < step.num_tokens; token += Config::kNumWarps) {
        const auto value = memory.value_row(step.block, step.first_slot + token);  // [head_dim]
        const float weight = s.weights[token];
        added.weights += weight;
        NANOSERVE_UNROLL
        for (int j = 0; j < Config::kElementsPerLane; ++j) {
            const int d = lane + j * Config::kNumLanes;
            if (Config::has_element(d, head_dim)) {
                added.values[j] += weight * value[d];
            }
        }
    }
    sums.weights = sums.weights * rescale + added.weights;
    NANOSERVE_UNROLL
    for (int j = 0; j < Config::kElementsPerLane; ++j) {
        sums.values[j] = sums.values[j] * rescale + added.values[j];
    }
}
//! [add values]

template <class Config>
NANOSERVE_DEVICE void share_sums(const LaneSums<Config>& sums, int thread,
                                 PagedAttentionShared<Config>& s) {
    const int warp = thread / Config::kNumLanes;
    const int lane = thread % Config::kNumLanes;
    if (lane == 0) {
        s.partial_sums[warp] = sums.weights;
    }
    NANOSERVE_UNROLL
    for (int j = 0; j < Config::kElementsPerLane; ++j) {
        s.partial_outs[warp][lane + j * Config::kNumLanes] = sums.values[j];
    }
}

// Adds up the warps' sums, always in the same order, divides, and applies the scale of V. The
// head's sink is the last score of its softmax.
template <class Config>
NANOSERVE_DEVICE void write_output(const PagedAttentionArgs& args, QueryHead query,
                                   OnlineSoftmax softmax, int thread,
                                   const PagedAttentionShared<Config>& s) {
    const PagedAttentionParams& p = args.params;
    const std::int32_t head_dim = p.kv.layout.head_dim;
    const std::int64_t row = query.seq * p.num_q_heads + query.head;
    const float v_scale = p.kv.scales.v.of_head(query.kv_head);
    const float sink = sink_of(p.rules, query.head);
    const float rescale = softmax.raise_max(&sink, 1);
    float sum = 0.0f;
    for (const float partial_sum : s.partial_sums) {
        sum += partial_sum;
    }
    sum = sum * rescale + softmax.weight(sink);
    for (int d = thread; d < head_dim; d += Config::kNumThreads) {
        float out = 0.0f;
        for (const auto& partial_out : s.partial_outs) {
            out += partial_out[d];
        }
        store_element(p.out, p.io_dtype, row * head_dim + d,
                      sum == 0.0f ? 0.0f : out * rescale / sum * v_scale);
    }
    if (thread == 0 && p.lse != nullptr) {
        p.lse[row] = softmax.lse(sum);
    }
}

NANOSERVE_DEVICE inline std::int32_t smaller(std::int64_t a, std::int32_t b) {
    return a < b ? static_cast<std::int32_t>(a) : b;
}

// Tokens of the sequence, no fewer than 0 and no more than its table has blocks for.
template <class Memory>
NANOSERVE_DEVICE std::int64_t visible_tokens(const PagedAttentionParams& p, Memory& memory) {
    const std::int64_t seq_len = memory.seq_len();
    const std::int64_t block_size = p.kv.layout.block_size;
    if (seq_len >= 0 && blocks_needed(seq_len, block_size) <= p.max_blocks_per_seq) {
        return seq_len;
    }
    memory.report(kClampedLength);
    return seq_len < 0 ? 0 : p.max_blocks_per_seq * block_size;
}

//! [attend step]
// Scores a few tokens, raises the maximum, adds their values: K and V of a token are each read
// once.
template <class Config, class Team, class Memory, class Sums>
NANOSERVE_DEVICE void attend_step(const PagedAttentionArgs& args, QueryHead query,
                                  const TokenStep& step, Team& team, Memory& memory,
                                  PagedAttentionShared<Config>& s, OnlineSoftmax& softmax,
                                  Sums& sums) {
    const std::int32_t head_dim = args.params.kv.layout.head_dim;
    team.each([&](int thread) { dot_keys(memory, step, head_dim, thread, s); });
    // all lanes' dots visible in partial_dots
    team.each([&](int thread) { finish_scores(args, query, step, thread, s); });
    // all scores of the step visible
    const float rescale = softmax.raise_max(s.scores, step.num_tokens);
    team.each([&](int thread) {
        if (thread < step.num_tokens) {
            s.weights[thread] = softmax.weight(s.scores[thread]);
        }
    });  // all weights of the step visible, and no thread still looks at the scores
    team.each([&](int thread) {
        add_values(memory, step, head_dim, rescale, thread, s, sums[thread]);
    });  // no thread still looks at the weights
}
//! [attend step]

//! [attend head]
/// One query head of one sequence: walks the blocks of its visible tokens, absent ones left out,
/// and writes the head's row of out and of lse.
template <class Config, class Team, class Memory>
NANOSERVE_DEVICE void attend_head(const PagedAttentionArgs& args, QueryHead query, Team& team,
                                  Memory& memory, PagedAttentionShared<Config>& s) {
    typename Team::template PerThread<LaneSums<Config>> sums;
    OnlineSoftmax softmax;
    team.each([&](int thread) { load_query(args, query, thread, s); });  // all of q visible
    const KVLayout& layout = args.params.kv.layout;
    const std::int64_t seq_len = visible_tokens(args.params, memory);
    const std::int64_t first = args.params.rules.first_token(seq_len);
    for (std::int64_t i = first / layout.block_size; i * layout.block_size < seq_len; ++i) {
        const BlockId block = memory.block_id(i);
        if (block < 0 || block >= layout.num_blocks) {
            memory.report(kAbsentBlock);
            continue;
        }
        const std::int64_t first_of_block = i * layout.block_size;
        const std::int32_t num_tokens = smaller(seq_len - first_of_block, layout.block_size);
        const std::int64_t hidden = first > first_of_block ? first - first_of_block : 0;
        for (std::int64_t slot = hidden; slot < num_tokens; slot += Config::kStepTokens) {
            const TokenStep step = {.block = block,
                                    .first_slot = static_cast<std::int32_t>(slot),
                                    .num_tokens = smaller(num_tokens - slot, Config::kStepTokens),
                                    .position = first_of_block + slot - (seq_len - 1)};
            attend_step(args, query, step, team, memory, s, softmax, sums);
        }
    }
    team.each([&](int thread) { share_sums(sums[thread], thread, s); });  // all warps' sums visible
    team.each([&](int thread) { write_output(args, query, softmax, thread, s); });  // the end
}
//! [attend head]

}  // namespace nanoserve
