// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <nanoserve/attention/detail/lanes.hpp>
#include <nanoserve/attention/detail/row_ops.hpp>

#include <algorithm>
#include <limits>

namespace nanoserve::detail {
namespace {

constexpr int kHeadTile = 4;  // query heads that share a loaded row; their sums stay in registers

// A row is walked in steps of kNumLanes elements. WholeStep takes all of them, PartStep the first
// `count` of the last one.
template <int kWidth>
struct WholeStep {
    template <class T>
    __attribute__((always_inline)) Lanes<kWidth> load(const T* source) const {
        return detail::load<kWidth>(source);
    }
    __attribute__((always_inline)) void store(const Lanes<kWidth>& lanes, float* target) const {
        detail::store<kWidth>(lanes, target);
    }
};

template <int kWidth>
struct PartStep {
    std::int64_t count = 0;
    float fill = 0.0f;

    template <class T>
    __attribute__((always_inline)) Lanes<kWidth> load(const T* source) const {
        return load_first<kWidth>(source, count, fill);
    }
    __attribute__((always_inline)) void store(const Lanes<kWidth>& lanes, float* target) const {
        store_first<kWidth>(lanes, target, count);
    }
};

template <int kWidth, int kHeads, class T, class Step>
NANOSERVE_INLINE void score_step(Lanes<kWidth> (&sum)[kHeads], const float* q, const T* row,
                                 std::int64_t head_dim, Step step) {
    const auto k_lanes = step.load(row);
    for (int h = 0; h < kHeads; ++h) {
        add_product(sum[h], step.load(q + h * head_dim), k_lanes);
    }
}

template <int kWidth, class T, int kHeads>
NANOSERVE_INLINE void score_tile(const float* q, Rows k, float sm_scale, HeadMajor scores) {
    for (std::int64_t t = 0; t < k.num_rows; ++t) {
        const T* row = static_cast<const T*>(k.data) + t * k.row_stride;
        Lanes<kWidth> sum[kHeads] = {};
        std::int64_t d = 0;
        for (; d + kNumLanes <= k.head_dim; d += kNumLanes) {
            score_step<kWidth>(sum, q + d, row + d, k.head_dim, WholeStep<kWidth>{});
        }
        if (d < k.head_dim) {
            score_step<kWidth>(sum, q + d, row + d, k.head_dim, PartStep<kWidth>{k.head_dim - d});
        }
        for (int h = 0; h < kHeads; ++h) {
            scores.data[h * scores.stride + t] = fold(sum[h], Add{}) * sm_scale;
        }
    }
}

// One step of the head_dim elements, all rows: the sums stay in registers from the first row to the
// last.
template <int kWidth, class T, int kHeads, class Step>
NANOSERVE_INLINE void accumulate_step(HeadMajor weights, Rows v, std::int64_t d, float* out,
                                      Step step) {
    Lanes<kWidth> sum[kHeads];
    for (int h = 0; h < kHeads; ++h) {
        sum[h] = step.load(out + h * v.head_dim + d);
    }
    for (std::int64_t t = 0; t < v.num_rows; ++t) {
        const auto v_lanes = step.load(static_cast<const T*>(v.data) + t * v.row_stride + d);
        for (int h = 0; h < kHeads; ++h) {
            add_scaled(sum[h], weights.data[h * weights.stride + t], v_lanes);
        }
    }
    for (int h = 0; h < kHeads; ++h) {
        step.store(sum[h], out + h * v.head_dim + d);
    }
}

template <int kWidth, class T, int kHeads>
NANOSERVE_INLINE void accumulate_tile(HeadMajor weights, Rows v, float* out) {
    std::int64_t d = 0;
    for (; d + kNumLanes <= v.head_dim; d += kNumLanes) {
        accumulate_step<kWidth, T, kHeads>(weights, v, d, out, WholeStep<kWidth>{});
    }
    if (d < v.head_dim) {
        accumulate_step<kWidth, T, kHeads>(weights, v, d, out, PartStep<kWidth>{v.head_dim - d});
    }
}

template <int kWidth, class T>
NANOSERVE_INLINE void score_rows(const float* q, std::int64_t num_heads, Rows k, float sm_scale,
                                 HeadMajor scores) {
    std::int64_t h = 0;
    for (; h + kHeadTile <= num_heads; h += kHeadTile) {
        score_tile<kWidth, T, kHeadTile>(q + h * k.head_dim, k, sm_scale,
                                         {scores.data + h * scores.stride, scores.stride});
    }
    for (; h < num_heads; ++h) {
        score_tile<kWidth, T, 1>(q + h * k.head_dim, k, sm_scale,
                                 {scores.data + h * scores.stride, scores.stride});
    }
}

template <int kWidth, class T>
NANOSERVE_INLINE void accumulate_rows(HeadMajor weights, std::int64_t num_heads, Rows v,
                                      float* out) {
    std::int64_t h = 0;
    for (; h + kHeadTile <= num_heads; h += kHeadTile) {
        accumulate_tile<kWidth, T, kHeadTile>({weights.data + h * weights.stride, weights.stride},
                                              v, out + h * v.head_dim);
    }
    for (; h < num_heads; ++h) {
        accumulate_tile<kWidth, T, 1>({weights.data + h * weights.stride, weights.stride}, v,
                                      out + h * v.head_dim);
    }
}

// Weights are summed in stretches: a lane that took all of a long history would round ever larger
// sums.
constexpr std::int64_t kStretch = 64 * kNumLanes;

constexpr float kNegativeInfinity = -std::numeric_limits<float>::infinity();

template <int kWidth, class Step>
NANOSERVE_INLINE void max_step(Lanes<kWidth>& max, const float* scores, Step step) {
    const auto lanes = step.load(scores);
    for (int i = 0; i < lanes.kNumParts; ++i) {
        max.part[i] = Max{}(max.part[i], lanes.part[i]);
    }
}

template <int kWidth, class Step>
NANOSERVE_INLINE void exponentiate_step(Lanes<kWidth>& sum, float* scores, float shift, Step step) {
    auto lanes = step.load(scores);
    for (int i = 0; i < lanes.kNumParts; ++i) {
        lanes.part[i] = exp_register<kWidth>(lanes.part[i] - shift);
        sum.part[i] += lanes.part[i];
    }
    step.store(lanes, scores);
}

// The last step belongs to its stretch whether it is whole or not: hidden tokens behind the last
// visible one then add zeros and move no other sum.
template <int kWidth>
NANOSERVE_INLINE Lanes<kWidth> exponentiate_stretch(float* scores, std::int64_t num_tokens,
                                                    float shift) {
    Lanes<kWidth> sum = {};
    std::int64_t t = 0;
    for (; t + kNumLanes <= num_tokens; t += kNumLanes) {
        exponentiate_step(sum, scores + t, shift, WholeStep<kWidth>{});
    }
    if (t < num_tokens) {
        exponentiate_step(sum, scores + t, shift,
                          PartStep<kWidth>{num_tokens - t, kNegativeInfinity});
    }
    return sum;
}

template <int kWidth>
NANOSERVE_INLINE SoftmaxSums exponentiate(float* scores, std::int64_t num_tokens) {
    const std::int64_t whole = num_tokens / kNumLanes * kNumLanes;

    Lanes<kWidth> max = load_first<kWidth>(scores, 0, kNegativeInfinity);
    for (std::int64_t t = 0; t < whole; t += kNumLanes) {
        max_step(max, scores + t, WholeStep<kWidth>{});
    }
    max_step(max, scores + whole, PartStep<kWidth>{num_tokens - whole, kNegativeInfinity});
    const float row_max = fold(max, Max{});

    // A row without a visible token: (-inf) - (-inf) would be NaN, so nothing is subtracted.
    const float shift = row_max == kNegativeInfinity ? 0.0f : row_max;
    Lanes<kWidth> sum = {};
    for (std::int64_t begin = 0; begin < num_tokens; begin += kStretch) {
        const auto stretch_sum = exponentiate_stretch<kWidth>(
            scores + begin, std::min(kStretch, num_tokens - begin), shift);
        for (int i = 0; i < sum.kNumParts; ++i) {
            sum.part[i] += stretch_sum.part[i];
        }
    }
    return {row_max, fold(sum, Add{})};
}

// One source, several compilations: `target` is the compiler's name of the instruction set, `width`
// the floats in one of its registers. always_inline puts the whole step into the function that
// carries the target.
#define NANOSERVE_ROW_OPS(name, width, ...)                                                   \
    template <class T>                                                                        \
    struct name {                                                                             \
        __VA_ARGS__ static void score(const float* q, std::int64_t num_heads, Rows k,         \
                                      float sm_scale, HeadMajor scores) {                     \
            score_rows<width, T>(q, num_heads, k, sm_scale, scores);                          \
        }                                                                                     \
        __VA_ARGS__ static SoftmaxSums exponentiate_scores(float* scores,                     \
                                                           std::int64_t num_tokens) {         \
            return exponentiate<width>(scores, num_tokens);                                   \
        }                                                                                     \
        __VA_ARGS__ static void accumulate(HeadMajor weights, std::int64_t num_heads, Rows v, \
                                           float* out) {                                      \
            accumulate_rows<width, T>(weights, num_heads, v, out);                            \
        }                                                                                     \
        static constexpr RowOps kOps = {score, exponentiate_scores, accumulate};              \
    }

NANOSERVE_ROW_OPS(Baseline, 4, );
#if defined(__x86_64__)
NANOSERVE_ROW_OPS(Avx2, 8, __attribute__((target("avx2"))));
NANOSERVE_ROW_OPS(Avx512, 16, __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl"))));
#endif

}  // namespace

const RowOps& row_ops(InstructionSet set, DType dtype) {
    return visit_dtype(dtype, [set]<class T>() -> const RowOps& {
        switch (set) {
#if defined(__x86_64__)
            case InstructionSet::avx512:
                return Avx512<T>::kOps;
            case InstructionSet::avx2:
                return Avx2<T>::kOps;
#endif
            default:
                return Baseline<T>::kOps;
        }
    });
}

}  // namespace nanoserve::detail
