// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanoserve/model/dtype.hpp>

#include <kernels/general/base2.hpp>
#include <kernels/general/config.hpp>
#include <kernels/general/host_device.hpp>
#include <kernels/shared_heads/chunk.hpp>
#include <kernels/shared_heads/config.hpp>
#include <kernels/shared_heads/lane_map.hpp>
#include <kernels/shared_heads/token_range.hpp>
#include <kernels/split_kv/merge_parts.hpp>

#include <cmath>
#include <cstdint>
#include <limits>

// The body of shared_heads_attention and of split_kv_attention, for the GPU and for its CPU twin;
// see shared_heads.cu.
//
// A warp goes its way alone until the end. warp.each(step) runs step(lane) on each of its lanes.
// What a lane keeps for itself is a Warp::PerLane: registers on the GPU, an array in the twin.
// warp.exchanged(x, distance) gives each lane what lane ^ distance has in x: a shuffle on the GPU,
// a copy in the twin.
//
// All reads of the cache go through a Memory:
//   seq_len()                       tokens of the sequence, as the caller says
//   block_id(i)                     entry i of the sequence's table
//   key_chunk(index)                16 bytes of a K row, by their ChunkIndex
//   value_chunk(index)              the same of a V row
//   report(bits)                    sets bits of the status word

namespace nanoserve {

/// The query heads of one thread block: some or all of one KV head's group.
struct QueryGroup {
    std::int64_t seq = 0;         ///< sequence in the batch
    std::int32_t kv_head = 0;     ///< KV head whose rows are read
    std::int32_t first_head = 0;  ///< query head
    std::int32_t num_heads = 0;   ///< 1 to Config::kHeads
};

/// A lane's chunk of q, for all heads of the group, times sm_scale * log2(e): the dot products are
/// scores in base 2.
template <class Config>
struct GroupQuery {
    float q[Config::kHeads][Config::kElements];
};

/// What a lane has asked for: its chunk of some rows of K and of V.
template <class Config>
struct LaneRows {
    ChunkIndex chunks[Config::kSteps];  // kNoChunk: there is no such row, and zeros stand for it
    Chunk k[Config::kSteps];
    Chunk v[Config::kSteps];
    bool saw_absent = false;  // a used table entry outside the pool, ever
};

/// Scores, and later weights, of the rows that a lane has asked for.
template <class Config>
struct TileScores {
    float at[Config::kSteps][Config::kHeads];
};

/// What a lane carries from tile to tile, its chunk of the output included. The lanes of a reader
/// have the same max and sum.
template <class Config>
struct GroupSums {
    float max[Config::kHeads];                     // in base 2
    float sum[Config::kHeads];                     // of 2^(score - max)
    float out[Config::kHeads][Config::kElements];  // sums of 2^(score - max) * v
};

/// The largest score of each head.
template <class Config>
struct HeadMaxima {
    float at[Config::kHeads];
};

/// What the warps of a thread block leave for each other, at the end.
template <class Config>
struct SharedHeadsShared {
    float max[Config::kNumWarps][Config::kHeads];
    float sum[Config::kNumWarps][Config::kHeads];
    float out[Config::kNumWarps][Config::kHeads][Config::kMaxHeadDim];
};

template <class Config, class Q>
NANOSERVE_DEVICE void load_query_of(const SharedHeadsArgs& args, const QueryGroup& group, int chunk,
                                    GroupQuery<Config>& query) {
    const std::int32_t head_dim = args.params.kv.layout.head_dim;
    const Q* const first = static_cast<const Q*>(args.params.q) + group.seq * args.q_stride +
                           std::int64_t{group.first_head} * head_dim + chunk * Config::kElements;
    NANOSERVE_UNROLL
    for (int head = 0; head < Config::kHeads; ++head) {
        NANOSERVE_UNROLL
        for (int i = 0; i < Config::kElements; ++i) {
            query.q[head][i] = head < group.num_heads
                                   ? args.scale * widened(first[std::int64_t{head} * head_dim + i])
                                   : 0.0f;
        }
    }
}

// Asks for the type once, so that all loads are under way together.
template <class Config>
NANOSERVE_DEVICE void load_query(const SharedHeadsArgs& args, const QueryGroup& group, int chunk,
                                 GroupQuery<Config>& query) {
    switch (args.params.io_dtype) {
        case DType::fp16:
            return load_query_of<Config, Fp16>(args, group, chunk, query);
        case DType::bf16:
            return load_query_of<Config, Bf16>(args, group, chunk, query);
        case DType::fp32:
        case DType::fp8_e4m3:  // which q is not
            break;
    }
    load_query_of<Config, float>(args, group, chunk, query);
}

//! [find rows]
// A tile is kSteps rows for each reader of the warp. In one step neighbouring readers take
// neighbouring tokens, so that a warp asks for a run of whole rows. Behind the end, and where the
// table names no block of the pool, there are none.
template <class Config, class Memory>
NANOSERVE_DEVICE void find_rows(const SharedHeadsArgs& args, std::int32_t kv_head, Memory& memory,
                                std::int32_t first_token, std::int32_t end, int lane,
                                LaneRows<Config>& tile) {
    const LaneMap lanes{args.chunks_log2};
    const KVLayout& layout = args.params.kv.layout;
    const ChunkIndex lane_chunk = static_cast<ChunkIndex>(kv_head) * args.head_chunks +
                                  static_cast<ChunkIndex>(lanes.chunk(lane));
    std::int32_t tokens[Config::kSteps];
    std::int32_t slots[Config::kSteps];
    BlockId blocks[Config::kSteps];
    NANOSERVE_UNROLL
    for (int step = 0; step < Config::kSteps; ++step) {
        tokens[step] = first_token + step * lanes.num_readers() + lanes.reader(lane);
        const std::int32_t i = args.table_entry(tokens[step]);
        slots[step] = tokens[step] - i * layout.block_size;
        blocks[step] = tokens[step] < end ? memory.block_id(i) : 0;
    }  // all entries are asked for before the first is used
    NANOSERVE_UNROLL
    for (int step = 0; step < Config::kSteps; ++step) {
        const auto block = static_cast<std::uint32_t>(blocks[step]);  // below 0: very large
        const bool is_in_pool = block < static_cast<std::uint32_t>(layout.num_blocks);
        const bool is_used = tokens[step] < end;
        tile.saw_absent |= is_used && !is_in_pool;
        tile.chunks[step] = is_used && is_in_pool
                                ? block * args.block_chunks +
                                      static_cast<ChunkIndex>(slots[step]) * args.token_chunks +
                                      lane_chunk
                                : kNoChunk;
    }
}
//! [find rows]

template <class Config, class Memory>
NANOSERVE_DEVICE void load_keys(Memory& memory, LaneRows<Config>& tile) {
    NANOSERVE_UNROLL
    for (int step = 0; step < Config::kSteps; ++step) {
        const ChunkIndex index = tile.chunks[step];
        tile.k[step] = index == kNoChunk ? Chunk{} : memory.key_chunk(index);
    }
}

template <class Config, class Memory>
NANOSERVE_DEVICE void load_values(Memory& memory, LaneRows<Config>& tile) {
    NANOSERVE_UNROLL
    for (int step = 0; step < Config::kSteps; ++step) {
        const ChunkIndex index = tile.chunks[step];
        tile.v[step] = index == kNoChunk ? Chunk{} : memory.value_chunk(index);
    }
}

// A lane's part of the scores: its chunk of K with its chunk of q, for all heads.
template <class Config>
NANOSERVE_DEVICE void dot_chunks(const GroupQuery<Config>& query, const LaneRows<Config>& tile,
                                 TileScores<Config>& scores) {
    NANOSERVE_UNROLL
    for (int step = 0; step < Config::kSteps; ++step) {
        NANOSERVE_UNROLL
        for (int head = 0; head < Config::kHeads; ++head) {
            float dot = 0.0f;
            NANOSERVE_UNROLL
            for (int i = 0; i < Config::kElements; ++i) {
                dot += query.q[head][i] * element_of<typename Config::T>(tile.k[step], i);
            }
            scores.at[step][head] = dot;
        }
    }
}

//! [add up chunks]
// Adds up what the lanes of a reader found; then each of them has the whole dot products.
template <class Config, class Warp, class Scores>
NANOSERVE_DEVICE void add_up_chunks(int chunks_log2, Warp& warp, Scores& scores) {
    for (int distance = (1 << chunks_log2) / 2; distance > 0; distance /= 2) {
        auto others = warp.exchanged(scores, distance);
        warp.each([&](int lane) {
            NANOSERVE_UNROLL
            for (int step = 0; step < Config::kSteps; ++step) {
                NANOSERVE_UNROLL
                for (int head = 0; head < Config::kHeads; ++head) {
                    scores[lane].at[step][head] += others[lane].at[step][head];
                }
            }
        });
    }
}
//! [add up chunks]

template <class Config>
NANOSERVE_DEVICE void mask_absent(const LaneRows<Config>& tile, TileScores<Config>& scores) {
    NANOSERVE_UNROLL
    for (int step = 0; step < Config::kSteps; ++step) {
        NANOSERVE_UNROLL
        for (int head = 0; head < Config::kHeads; ++head) {
            if (tile.chunks[step] == kNoChunk) {
                scores.at[step][head] = -std::numeric_limits<float>::infinity();
            }
        }
    }
}

// Moves a head's sums to a larger maximum: what they would have been with it from the start.
template <class Config>
NANOSERVE_DEVICE void raise_max(float max, int head, GroupSums<Config>& sums) {
    const float rescale = base2_weight(sums.max[head], max);
    sums.max[head] = max;
    sums.sum[head] *= rescale;
    NANOSERVE_UNROLL
    for (int i = 0; i < Config::kElements; ++i) {
        sums.out[head][i] *= rescale;
    }
}

//! [weigh scores]
// Raises each head's maximum, moves its sums there, turns its scores into weights, adds these up.
template <class Config>
NANOSERVE_DEVICE void weigh_scores(TileScores<Config>& scores, GroupSums<Config>& sums) {
    NANOSERVE_UNROLL
    for (int head = 0; head < Config::kHeads; ++head) {
        float max = sums.max[head];
        NANOSERVE_UNROLL
        for (int step = 0; step < Config::kSteps; ++step) {
            max = std::fmax(max, scores.at[step][head]);
        }
        raise_max(max, head, sums);  // mostly by a factor of 1: a branch around it costs more
        NANOSERVE_UNROLL
        for (int step = 0; step < Config::kSteps; ++step) {
            scores.at[step][head] = base2_weight(scores.at[step][head], max);
            sums.sum[head] += scores.at[step][head];
        }
    }
}
//! [weigh scores]

//! [add values]
// Each element of V is converted once and serves all heads.
template <class Config>
NANOSERVE_DEVICE void add_values(const TileScores<Config>& weights, const LaneRows<Config>& tile,
                                 GroupSums<Config>& sums) {
    NANOSERVE_UNROLL
    for (int step = 0; step < Config::kSteps; ++step) {
        NANOSERVE_UNROLL
        for (int i = 0; i < Config::kElements; ++i) {
            const float value = element_of<typename Config::T>(tile.v[step], i);
            NANOSERVE_UNROLL
            for (int head = 0; head < Config::kHeads; ++head) {
                sums.out[head][i] += weights.at[step][head] * value;
            }
        }
    }
}
//! [add values]

template <class Config>
NANOSERVE_DEVICE void clear(GroupSums<Config>& sums) {
    NANOSERVE_UNROLL
    for (int head = 0; head < Config::kHeads; ++head) {
        sums.max[head] = -std::numeric_limits<float>::infinity();
        sums.sum[head] = 0.0f;
        NANOSERVE_UNROLL
        for (int i = 0; i < Config::kElements; ++i) {
            sums.out[head][i] = 0.0f;
        }
    }
}

template <class Config>
NANOSERVE_DEVICE HeadMaxima<Config> maxima_of(const GroupSums<Config>& sums) {
    HeadMaxima<Config> maxima;
    NANOSERVE_UNROLL
    for (int head = 0; head < Config::kHeads; ++head) {
        maxima.at[head] = sums.max[head];
    }
    return maxima;
}

// Adds sums that were made with the same maxima.
template <class Config>
NANOSERVE_DEVICE void add_sums(const GroupSums<Config>& others, GroupSums<Config>& sums) {
    NANOSERVE_UNROLL
    for (int head = 0; head < Config::kHeads; ++head) {
        sums.sum[head] += others.sum[head];
        NANOSERVE_UNROLL
        for (int i = 0; i < Config::kElements; ++i) {
            sums.out[head][i] += others.out[head][i];
        }
    }
}

//! [attend tokens]
// The tiles of one warp; the warps of a thread block take turns. The registers of K are free once a
// tile is scored, those of V once its values are added: the next rows are asked for right then.
template <class Config, class Warp, class Memory, class Sums>
NANOSERVE_DEVICE void attend_tokens(const SharedHeadsArgs& args, const QueryGroup& group,
                                    TokenRange tokens, Warp& warp, Memory& memory, Sums& sums) {
    const LaneMap lanes{args.chunks_log2};
    const std::int32_t tile_tokens = Config::kSteps * lanes.num_readers();
    std::int32_t first_token = tokens.begin + warp.index() * tile_tokens;
    typename Warp::template PerLane<LaneRows<Config>> tile;
    typename Warp::template PerLane<GroupQuery<Config>> query;
    warp.each([&](int lane) {
        find_rows(args, group.kv_head, memory, first_token, tokens.end, lane, tile[lane]);
        load_keys(memory, tile[lane]);
        load_values(memory, tile[lane]);
        load_query(args, group, lanes.chunk(lane), query[lane]);
        clear(sums[lane]);
    });
    while (first_token < tokens.end) {
        first_token += Config::kNumWarps * tile_tokens;
        typename Warp::template PerLane<TileScores<Config>> scores;
        warp.each([&](int lane) { dot_chunks(query[lane], tile[lane], scores[lane]); });
        add_up_chunks<Config>(args.chunks_log2, warp, scores);
        warp.each([&](int lane) {
            mask_absent(tile[lane], scores[lane]);
            find_rows(args, group.kv_head, memory, first_token, tokens.end, lane, tile[lane]);
            load_keys(memory, tile[lane]);
            weigh_scores(scores[lane], sums[lane]);
            add_values(scores[lane], tile[lane], sums[lane]);
            load_values(memory, tile[lane]);
        });
    }
    warp.each([&](int lane) {
        if (tile[lane].saw_absent) {
            memory.report(kAbsentBlock);
        }
    });
}
//! [attend tokens]

//! [merge readers]
// Each reader has walked tokens of its own, with a maximum of its own. All move to the largest of
// the warp, then the sums can be added up: afterwards each reader has those of the whole warp.
template <class Config, class Warp, class Sums>
NANOSERVE_DEVICE void merge_readers(int chunks_log2, Warp& warp, Sums& sums) {
    typename Warp::template PerLane<HeadMaxima<Config>> maxima;
    warp.each([&](int lane) { maxima[lane] = maxima_of(sums[lane]); });
    for (int distance = 1 << chunks_log2; distance < Config::kNumLanes; distance *= 2) {
        auto others = warp.exchanged(maxima, distance);
        warp.each([&](int lane) {
            NANOSERVE_UNROLL
            for (int head = 0; head < Config::kHeads; ++head) {
                maxima[lane].at[head] = std::fmax(maxima[lane].at[head], others[lane].at[head]);
            }
        });
    }
    warp.each([&](int lane) {
        NANOSERVE_UNROLL
        for (int head = 0; head < Config::kHeads; ++head) {
            raise_max(maxima[lane].at[head], head, sums[lane]);
        }
    });
    for (int distance = 1 << chunks_log2; distance < Config::kNumLanes; distance *= 2) {
        auto others = warp.exchanged(sums, distance);
        warp.each([&](int lane) { add_sums(others[lane], sums[lane]); });
    }
}
//! [merge readers]

template <class Config>
NANOSERVE_DEVICE void share_sums(const GroupSums<Config>& sums, int warp, int chunk,
                                 SharedHeadsShared<Config>& s) {
    NANOSERVE_UNROLL
    for (int head = 0; head < Config::kHeads; ++head) {
        if (chunk == 0) {
            s.max[warp][head] = sums.max[head];
            s.sum[warp][head] = sums.sum[head];
        }
        NANOSERVE_UNROLL
        for (int i = 0; i < Config::kElements; ++i) {
            s.out[warp][head][chunk * Config::kElements + i] = sums.out[head][i];
        }
    }
}

//! [attend group]
/// Some tokens of one sequence, for the query heads of one thread block: walks them and calls
/// `result(row, d, sums)` for each element of each head, with row = seq * num_q_heads + query head.
template <class Config, class Block, class Memory, class Result>
NANOSERVE_DEVICE void attend_group(const SharedHeadsArgs& args, const QueryGroup& group,
                                   TokenRange tokens, Block& block, Memory& memory,
                                   SharedHeadsShared<Config>& s, const Result& result) {
    block.each_warp([&]<class Warp>(Warp& warp) {
        typename Warp::template PerLane<GroupSums<Config>> sums;
        attend_tokens<Config>(args, group, tokens, warp, memory, sums);
        merge_readers<Config>(args.chunks_log2, warp, sums);
        warp.each([&](int lane) {
            if (lane < 1 << args.chunks_log2) {
                share_sums(sums[lane], warp.index(), lane, s);
            }
        });
    });  // all warps' sums visible
    const std::int32_t head_dim = args.params.kv.layout.head_dim;
    block.each([&](int thread) {
        for (int i = thread; i < group.num_heads * head_dim; i += Config::kNumThreads) {
            const int head = i / head_dim;
            const int d = i % head_dim;
            const auto part = [&](int warp) -> ElementSums {
                const float sum = s.sum[warp][head];
                return {told_max(s.max[warp][head], sum), sum, s.out[warp][head][d]};
            };
            const std::int64_t row = group.seq * args.params.num_q_heads + group.first_head + head;
            result(row, d, merge_parts(Config::kNumWarps, part));
        }
    });  // the end
}
//! [attend group]

/// Tokens of the sequence, no fewer than 0 and no more than its table has room for.
template <class Memory>
NANOSERVE_DEVICE std::int32_t visible_tokens_of(const SharedHeadsArgs& args, Memory& memory) {
    const std::int32_t given = memory.seq_len();
    const std::int32_t at_least_0 = given < 0 ? 0 : given;
    const std::int32_t seq_len = at_least_0 < args.max_tokens ? at_least_0 : args.max_tokens;
    if (seq_len != given) {
        memory.report(kClampedLength);
    }
    return seq_len;
}

/// The query heads of thread block `index` of those that read one part of each history: KV heads
/// fastest, whose rows are neighbours in memory.
template <class Config>
NANOSERVE_DEVICE QueryGroup group_of_block(const SharedHeadsArgs& args, std::int32_t index) {
    const std::int32_t num_kv_heads = args.params.kv.layout.num_kv_heads;
    const std::int32_t blocks_per_seq = num_kv_heads * args.num_passes;
    const std::int32_t in_seq = index % blocks_per_seq;
    const std::int32_t kv_head = in_seq % num_kv_heads;
    const std::int32_t first = in_seq / num_kv_heads * Config::kHeads;  // in the group
    const std::int32_t rest = args.group_size - first;
    return {.seq = index / blocks_per_seq,
            .kv_head = kv_head,
            .first_head = kv_head * args.group_size + first,
            .num_heads = rest < Config::kHeads ? rest : Config::kHeads};
}

}  // namespace nanoserve
