// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <nanoserve/attention/detail/lanes.hpp>
#include <nanoserve/attention/detail/stream_ops.hpp>

#include <algorithm>
#include <limits>
#include <type_traits>

namespace nanoserve::detail {
namespace {

constexpr int kHeads = kStreamHeads;
constexpr float kNegativeInfinity = -std::numeric_limits<float>::infinity();
using Four = FourLanes;  // one value for each head of a tile

// Tokens whose scores are summed side by side: as many as the registers hold sums for.
template <int kWidth>
constexpr int kTokenTile = kWidth == 16 ? 4 : 1;

// Lanes of v that are summed side by side.
template <int kWidth>
constexpr int kPanelLanes = kWidth == 16 ? 4 : 1;

template <int kWidth>
NANOSERVE_INLINE Lanes<kWidth> zero_lanes() {
    Lanes<kWidth> lanes;
    for (int i = 0; i < lanes.kNumParts; ++i) {
        lanes.part[i] = typename Register<kWidth>::Float{};
    }
    return lanes;
}

// The sums of the lanes of four heads, one token.
template <int kWidth>
NANOSERVE_INLINE void store_folded(const Lanes<kWidth> (&sum)[1][kHeads], float sm_scale,
                                   float* scores) {
    const auto a = fold_to_four(sum[0][0], Add{});
    const auto b = fold_to_four(sum[0][1], Add{});
    const auto c = fold_to_four(sum[0][2], Add{});
    const auto d = fold_to_four(sum[0][3], Add{});
    const auto ab =
        __builtin_shufflevector(a, b, 0, 1, 4, 5) + __builtin_shufflevector(a, b, 2, 3, 6, 7);
    const auto cd =
        __builtin_shufflevector(c, d, 0, 1, 4, 5) + __builtin_shufflevector(c, d, 2, 3, 6, 7);
    const Four four = (__builtin_shufflevector(ab, cd, 0, 2, 4, 6) +
                       __builtin_shufflevector(ab, cd, 1, 3, 5, 7)) *
                      sm_scale;
    __builtin_memcpy(scores, &four, sizeof four);
}

// The same tree for four heads and four tokens at once: 16 registers are folded into one.
template <int kWidth>
NANOSERVE_INLINE void store_folded(const Lanes<kWidth> (&sum)[4][kHeads], float sm_scale,
                                   float* scores) {
    using F = typename Register<16>::Float;
    F eight[8], four[4], two[2];
    for (int i = 0; i < 8; ++i) {  // lanes l and l + 8 of x and y: [x 0..7 | y 0..7]
        const F x = sum[i / 4][i % 4].part[0];
        const F y = sum[i / 4 + 2][i % 4].part[0];
        eight[i] =
            __builtin_shufflevector(x, y, 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23) +
            __builtin_shufflevector(x, y, 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30,
                                    31);
    }
    for (int i = 0; i < 4; ++i) {  // [t0 | t1 | t2 | t3] of head i, four lanes each
        const F x = eight[i];
        const F y = eight[i + 4];
        four[i] = __builtin_shufflevector(x, y, 0, 1, 2, 3, 16, 17, 18, 19, 8, 9, 10, 11, 24, 25,
                                          26, 27) +
                  __builtin_shufflevector(x, y, 4, 5, 6, 7, 20, 21, 22, 23, 12, 13, 14, 15, 28, 29,
                                          30, 31);
    }
    for (int i = 0; i < 2; ++i) {  // per token: [head 2i: two lanes, head 2i + 1: two lanes]
        const F x = four[2 * i];
        const F y = four[2 * i + 1];
        two[i] = __builtin_shufflevector(x, y, 0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28,
                                         29) +
                 __builtin_shufflevector(x, y, 2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15,
                                         30, 31);
    }
    const F one = __builtin_shufflevector(two[0], two[1], 0, 2, 16, 18, 4, 6, 20, 22, 8, 10, 24, 26,
                                          12, 14, 28, 30) +
                  __builtin_shufflevector(two[0], two[1], 1, 3, 17, 19, 5, 7, 21, 23, 9, 11, 25, 27,
                                          13, 15, 29, 31);
    const F scaled = one * sm_scale;
    __builtin_memcpy(scores, &scaled, sizeof scaled);
}

// Lanes that one step along a row fills: a cache line of 16-bit elements, where the registers are
// wide enough.
template <int kWidth, class T>
constexpr int kStepLanes = sizeof(T) <= 2 && kWidth == kNumLanes ? 2 : 1;

template <int kWidth, class T>
constexpr int kStep = kStepLanes<kWidth, T>* kNumLanes;  // elements

template <int kWidth, class T>
constexpr ElementOrder element_order() {
    return {.step = kStep<kWidth, T>, .group = std::is_same_v<T, Bf16> ? 2 * kWidth : 1};
}

template <int kWidth, class T>
NANOSERVE_INLINE void load_step(const T* row, Lanes<kWidth>* step) {
    for (int i = 0; i < kStepLanes<kWidth, T>; ++i) {
        step[i] = load<kWidth>(row + i * kNumLanes);
    }
}

// Two elements of bf16 are one 32-bit word: its upper half is the odd one, and the word shifted up
// is the even one. That is half the work of widening 16-bit elements, and leaves even and odd ones
// apart.
template <int kWidth>
NANOSERVE_INLINE void load_step(const Bf16* row, Lanes<kWidth>* step) {
    using R = Register<kWidth>;
    constexpr int kParts = Lanes<kWidth>::kNumParts;
    for (int i = 0; i < kStepLanes<kWidth, Bf16> * kParts; i += 2) {
        const auto words = load_vector<typename R::Uint>(row + i * kWidth);
        step[i / kParts].part[i % kParts] = (typename R::Float)(words << 16);
        step[(i + 1) / kParts].part[(i + 1) % kParts] = (typename R::Float)(words & 0xffff0000u);
    }
}

// Loads one step, and asks for what lies `ahead` elements further into the second-level cache: a
// block ahead is too far for the first. One line for each line: a burst of requests would stop the
// loads behind it.
template <int kWidth, class T>
NANOSERVE_INLINE void load_step(const T* row, std::int64_t ahead, Lanes<kWidth>* step) {
    __builtin_prefetch(row + ahead, 0, 2);
    load_step<kWidth>(row, step);
}

// The K or V rows of one KV head in a chunk.
template <class T>
struct TileRows {
    const T* rows;
    std::int64_t stride;  // elements
    std::int64_t ahead;   // elements from here to the same rows of the next block; 0: do not ask
    std::int64_t count;

    __attribute__((always_inline))
    TileRows(const void* pool, const void* next_pool, const StreamBlock& block,
             std::int64_t kv_head, std::int64_t first, std::int64_t num_tokens)
        : rows(static_cast<const T*>(pool) + first * block.token_stride +
               kv_head * block.head_stride),
          stride(block.token_stride),
          ahead(next_pool == nullptr
                    ? 0
                    : static_cast<const T*>(next_pool) - static_cast<const T*>(pool)),
          count(num_tokens) {}
};

// Scores of tokens [first, first + kTokens) for one tile.
template <int kWidth, class T, int kTokens, bool kWhole>
NANOSERVE_INLINE void score_tokens(const float* q, const TileRows<T>& k, std::int64_t first,
                                   std::int64_t head_dim, float sm_scale, float* scores) {
    const T* row = k.rows + first * k.stride;
    Lanes<kWidth> sum[kTokens][kHeads];
    for (int t = 0; t < kTokens; ++t) {
        for (int h = 0; h < kHeads; ++h) {
            sum[t][h] = zero_lanes<kWidth>();
        }
    }
    std::int64_t d = 0;
    constexpr int kLanes = kStepLanes<kWidth, T>;
    for (; d + kStep<kWidth, T> <= head_dim; d += kStep<kWidth, T>) {
        Lanes<kWidth> step[kTokens][kLanes];
        for (int t = 0; t < kTokens; ++t) {
            load_step<kWidth>(row + t * k.stride + d, k.ahead, step[t]);
        }
        for (int l = 0; l < kLanes; ++l) {
            for (int h = 0; h < kHeads; ++h) {
                const auto q_lanes = load<kWidth>(q + h * head_dim + d + l * kNumLanes);
                for (int t = 0; t < kTokens; ++t) {
                    add_product(sum[t][h], q_lanes, step[t][l]);
                }
            }
        }
    }
    if constexpr (!kWhole) {
        for (int t = 0; t < kTokens; ++t) {
            for (std::int64_t i = d; i < head_dim; i += kNumLanes) {
                const auto rest = load_first<kWidth>(row + t * k.stride + i, head_dim - i, 0.0f);
                for (int h = 0; h < kHeads; ++h) {
                    add_product(sum[t][h],
                                load_first<kWidth>(q + h * head_dim + i, head_dim - i, 0.0f), rest);
                }
            }
        }
    }
    store_folded<kWidth>(sum, sm_scale, scores);
}

// Scores of the chunk's tokens for one tile; -inf behind them.
template <int kWidth, class T, bool kWhole>
NANOSERVE_INLINE void score_chunk(const float* q, const TileRows<T>& k, std::int64_t head_dim,
                                  float sm_scale, StreamChunk& chunk) {
    constexpr int kTokens = kTokenTile<kWidth>;
    std::int64_t t = 0;
    for (; t + kTokens <= k.count; t += kTokens) {
        score_tokens<kWidth, T, kTokens, kWhole>(q, k, t, head_dim, sm_scale,
                                                 chunk.at + t * kHeads);
    }
    for (; t < k.count; ++t) {
        score_tokens<kWidth, T, 1, kWhole>(q, k, t, head_dim, sm_scale, chunk.at + t * kHeads);
    }
    std::fill(chunk.at + t * kHeads, chunk.at + kStreamTokens * kHeads, kNegativeInfinity);
}

template <int kWidth>
NANOSERVE_INLINE Lanes<kWidth> repeat_four(Four x) {
    float repeated[kNumLanes];
    for (int i = 0; i < kNumLanes / 4; ++i) {
        __builtin_memcpy(repeated + 4 * i, &x, sizeof x);
    }
    return load<kWidth>(repeated);
}

// Turns scores into weights against the new maximum.
template <int kWidth>
NANOSERVE_INLINE void update(StreamChunk& chunk, float* max, float* sum) {
    constexpr int kVectors = kStreamTokens * kHeads / kNumLanes;  // of kNumLanes: four tokens each
    Lanes<kWidth> s[kVectors];
    Lanes<kWidth> largest = s[0] = load<kWidth>(chunk.at);
    for (int i = 1; i < kVectors; ++i) {
        s[i] = load<kWidth>(chunk.at + i * kNumLanes);
        for (int p = 0; p < largest.kNumParts; ++p) {
            largest.part[p] = Max{}(largest.part[p], s[i].part[p]);
        }
    }
    const Four old_max = load_vector<Four>(max);
    const Four new_max = Max{}(old_max, fold_to_four(largest, Max{}));
    const auto shift = repeat_four<kWidth>(new_max);
    Lanes<kWidth> total = zero_lanes<kWidth>();
    for (int i = 0; i < kVectors; ++i) {
        for (int p = 0; p < total.kNumParts; ++p) {
            s[i].part[p] = exp_register<kWidth>(s[i].part[p] - shift.part[p]);
            total.part[p] += s[i].part[p];
        }
        store<kWidth>(s[i], chunk.at + i * kNumLanes);
    }
    const Four shrink = exp_register<4>(old_max - new_max);
    const Four new_sum = load_vector<Four>(sum) * shrink + fold_to_four(total, Add{});
    __builtin_memcpy(max, &new_max, sizeof new_max);
    __builtin_memcpy(sum, &new_sum, sizeof new_sum);
    __builtin_memcpy(chunk.shrink, &shrink, sizeof shrink);
}

// out = out * shrink + sum over the chunk's tokens of weight * v, for kPanel lanes of elements from
// `first` on. The chunk is summed apart: a chain of its few tokens, and one of the chunks.
template <int kWidth, class T, int kPanel>
NANOSERVE_INLINE void accumulate_panel(const StreamChunk& chunk, const TileRows<T>& v,
                                       std::int64_t first, std::int64_t head_dim, float* out) {
    Lanes<kWidth> sum[kHeads][kPanel];
    for (int h = 0; h < kHeads; ++h) {
        for (int s = 0; s < kPanel; ++s) {
            sum[h][s] = zero_lanes<kWidth>();
        }
    }
    for (std::int64_t t = 0; t < v.count; ++t) {
        Lanes<kWidth> row[kPanel];
        for (int s = 0; s < kPanel; s += kStepLanes<kWidth, T>) {
            load_step<kWidth>(v.rows + t * v.stride + first + s * kNumLanes, v.ahead, row + s);
        }
        for (int h = 0; h < kHeads; ++h) {
            for (int s = 0; s < kPanel; ++s) {
                add_scaled(sum[h][s], chunk.at[t * kHeads + h], row[s]);
            }
        }
    }
    for (int h = 0; h < kHeads; ++h) {
        for (int s = 0; s < kPanel; ++s) {
            float* target = out + h * head_dim + first + s * kNumLanes;
            if (!chunk.is_first) {
                add_scaled(sum[h][s], chunk.shrink[h], load<kWidth>(target));
            }
            store<kWidth>(sum[h][s], target);
        }
    }
}

template <int kWidth, class T, bool kWhole>
NANOSERVE_INLINE void accumulate_chunk(const StreamChunk& chunk, const TileRows<T>& v,
                                       std::int64_t head_dim, float* out) {
    constexpr int kPanel = kPanelLanes<kWidth>;
    std::int64_t d = 0;
    for (; d + kPanel * kNumLanes <= head_dim; d += kPanel * kNumLanes) {
        accumulate_panel<kWidth, T, kPanel>(chunk, v, d, head_dim, out);
    }
    if constexpr (!kWhole) {
        for (; d + kStep<kWidth, T> <= head_dim; d += kStep<kWidth, T>) {
            accumulate_panel<kWidth, T, kStepLanes<kWidth, T>>(chunk, v, d, head_dim, out);
        }
        for (; d < head_dim; ++d) {
            for (int h = 0; h < kHeads; ++h) {
                float sum = 0.0f;
                for (std::int64_t t = 0; t < v.count; ++t) {
                    sum += chunk.at[t * kHeads + h] * to_float(v.rows[t * v.stride + d]);
                }
                const float before =
                    chunk.is_first ? 0.0f : out[h * head_dim + d] * chunk.shrink[h];
                out[h * head_dim + d] = before + sum;
            }
        }
    }
}

// Tokens [first, first + count) of the block, all KV heads: score, update, accumulate.
template <int kWidth, class T, bool kWhole>
NANOSERVE_INLINE void attend_chunk(const StreamHeads& heads, const StreamBlock& block,
                                   std::int64_t first, std::int64_t count) {
    const std::int64_t tiles = tiles_in_group(heads.group_size);
    const std::int64_t num_tiles = heads.num_kv_heads * tiles;
    const std::int64_t tile_size = kHeads * heads.head_dim;
    for (std::int64_t i = 0; i < num_tiles; ++i) {
        const bool ask = i % tiles == 0;  // once for all tiles of a group
        const TileRows<T> k(block.k, ask ? block.next_k : nullptr, block, i / tiles, first, count);
        score_chunk<kWidth, T, kWhole>(heads.q + i * tile_size, k, heads.head_dim,
                                       heads.score_scale[i / tiles], heads.chunk[i]);
    }
    for (std::int64_t i = 0; i < num_tiles; ++i) {
        heads.chunk[i].is_first = block.is_first && first == 0;
        update<kWidth>(heads.chunk[i], heads.max + i * kHeads, heads.sum + i * kHeads);
    }
    for (std::int64_t i = 0; i < num_tiles; ++i) {
        const bool ask = i % tiles == 0;
        const TileRows<T> v(block.v, ask ? block.next_v : nullptr, block, i / tiles, first, count);
        accumulate_chunk<kWidth, T, kWhole>(heads.chunk[i], v, heads.head_dim,
                                            heads.out + i * tile_size);
    }
}

template <int kWidth, class T>
NANOSERVE_INLINE void attend(const StreamHeads& heads, const StreamBlock& block) {
    const bool whole = heads.head_dim % (kPanelLanes<kWidth> * kNumLanes) == 0;
    for (std::int64_t first = 0; first < block.num_tokens; first += kStreamTokens) {
        const std::int64_t count = std::min<std::int64_t>(kStreamTokens, block.num_tokens - first);
        if (whole) {
            attend_chunk<kWidth, T, true>(heads, block, first, count);
        } else {
            attend_chunk<kWidth, T, false>(heads, block, first, count);
        }
    }
}

template <class T>
void attend_baseline(const StreamHeads& heads, const StreamBlock& block) {
    attend<4, T>(heads, block);
}
#if defined(__x86_64__)
template <class T>
__attribute__((target("avx2,fma"))) void attend_avx2(const StreamHeads& heads,
                                                     const StreamBlock& block) {
    attend<8, T>(heads, block);
}
template <class T>
__attribute__((target("fma,avx512f,avx512bw,avx512dq,avx512vl"))) void attend_avx512(
    const StreamHeads& heads, const StreamBlock& block) {
    attend<16, T>(heads, block);
}
#endif

}  // namespace

StreamOps stream_ops(InstructionSet set, DType dtype) {
    return visit_dtype(dtype, [set]<class T>() -> StreamOps {
        switch (set) {
#if defined(__x86_64__)
            case InstructionSet::avx512:
                return {attend_avx512<T>, element_order<16, T>()};
            case InstructionSet::avx2:
                return {attend_avx2<T>, element_order<8, T>()};
#endif
            default:
                return {attend_baseline<T>, element_order<4, T>()};
        }
    });
}

}  // namespace nanoserve::detail
