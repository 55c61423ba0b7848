// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanoserve/model/dtype.hpp>

#include <cstdint>

#if defined(__FAST_MATH__) || defined(__ASSOCIATIVE_MATH__) || defined(__RECIPROCAL_MATH__) || \
    (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__ > 0)
#error "masks hold infinities and bits are the same everywhere: build without -ffast-math"
#endif

// Everything below must become part of the function that uses it, which decides the instruction
// set.
#define NANOSERVE_INLINE static inline __attribute__((always_inline))

namespace nanoserve::detail {

/// Sums run in this many lanes on every instruction set: element i goes to lane i % kNumLanes, and
/// the lanes are added as a fixed tree at the end. That is what keeps the bits the same everywhere.
constexpr int kNumLanes = 16;

/// One vector register of kWidth floats, in the compiler's own vector type: +, *, < and ?: work
/// lane by lane.
template <int kWidth>
struct Register {
    typedef float Float __attribute__((vector_size(kWidth * 4)));
    typedef std::int32_t Int __attribute__((vector_size(kWidth * 4)));
    typedef std::uint32_t Uint __attribute__((vector_size(kWidth * 4)));
    typedef std::uint16_t Half __attribute__((vector_size(kWidth * 2)));
    typedef std::uint8_t Byte __attribute__((vector_size(kWidth)));
};

/// All kNumLanes lanes: one register of 16 floats (AVX-512), two of 8 (AVX2) or four of 4
/// (baseline).
template <int kWidth>
struct Lanes {
    static constexpr int kNumParts = kNumLanes / kWidth;
    typename Register<kWidth>::Float part[kNumParts];
};

template <class Vector, class T>
NANOSERVE_INLINE Vector load_vector(const T* source) {
    Vector vector;
    __builtin_memcpy(&vector, source, sizeof vector);
    return vector;
}

template <int kWidth>
NANOSERVE_INLINE typename Register<kWidth>::Float load_floats(const float* source) {
    return load_vector<typename Register<kWidth>::Float>(source);
}

template <int kWidth>
NANOSERVE_INLINE typename Register<kWidth>::Float load_floats(const Bf16* source) {
    using R = Register<kWidth>;
    const auto bits = load_vector<typename R::Half>(source);
    return (typename R::Float)(__builtin_convertvector(bits, typename R::Uint) << 16);
}

// The vector form of to_float(Fp16): both kinds of values are made, and each lane takes its own.
template <int kWidth>
NANOSERVE_INLINE typename Register<kWidth>::Float widen_fp16(const Fp16* source) {
    using R = Register<kWidth>;
    const auto bits =
        __builtin_convertvector(load_vector<typename R::Half>(source), typename R::Uint);
    const typename R::Uint magnitude = bits & 0x7fffu;
    const auto small = (typename R::Int)magnitude;  // signed ones convert faster
    const auto subnormal =
        (typename R::Uint)(__builtin_convertvector(small, typename R::Float) * 0x1p-24f);
    const auto finite = (magnitude << 13) + (112u << 23);
    const auto normal = magnitude < 0x7c00u ? finite : finite + (112u << 23);
    const auto value = magnitude < 0x0400u ? subnormal : normal;
    return (typename R::Float)(((bits & 0x8000u) << 16) | value);
}

// AVX2 and AVX-512 have an instruction for it. It is named here because the compiler does not find
// it, and its intrinsic can't become part of a function that leaves the instruction set open. Clang
// refuses the registers there as well, and does without.
template <int kWidth>
NANOSERVE_INLINE typename Register<kWidth>::Float load_floats(const Fp16* source) {
#if defined(__x86_64__) && !defined(__clang__)
    if constexpr (kWidth >= 8) {
        typename Register<kWidth>::Float floats;
        asm("vcvtph2ps %1, %0"
            : "=v"(floats)
            : "m"(*reinterpret_cast<const char(*)[kWidth * sizeof(Fp16)]>(source)));
        return floats;
    }
#endif
    return widen_fp16<kWidth>(source);
}

// The vector form of to_float(Fp8E4m3): both kinds of values are made, and each lane takes its own.
template <int kWidth>
NANOSERVE_INLINE typename Register<kWidth>::Float load_floats(const Fp8E4m3* source) {
    using R = Register<kWidth>;
    // In two steps, because the compiler widens by two at most without leaving its vectors.
    const auto half =
        __builtin_convertvector(load_vector<typename R::Byte>(source), typename R::Half);
    const auto bits = __builtin_convertvector(half, typename R::Uint);
    const typename R::Uint magnitude = bits & 0x7fu;
    const auto small = (typename R::Int)magnitude;  // below 2^7, and signed ones convert faster
    const auto subnormal =
        (typename R::Uint)(__builtin_convertvector(small, typename R::Float) * 0x1p-9f);
    const auto normal = (magnitude << 20) + (120u << 23);
    const auto finite = magnitude < 0x08u ? subnormal : normal;
    const auto value = magnitude == 0x7fu ? finite | 0x7fc00000u : finite;
    return (typename R::Float)(((bits & 0x80u) << 24) | value);
}

/// The kNumLanes elements at `source`, as fp32.
template <int kWidth, class T>
NANOSERVE_INLINE Lanes<kWidth> load(const T* source) {
    Lanes<kWidth> lanes;
    for (int i = 0; i < lanes.kNumParts; ++i) {
        lanes.part[i] = load_floats<kWidth>(source + i * kWidth);
    }
    return lanes;
}

/// The first `count` elements at `source`, `fill` in the lanes behind them; reads nothing past
/// them.
template <int kWidth, class T>
NANOSERVE_INLINE Lanes<kWidth> load_first(const T* source, std::int64_t count, float fill) {
    float padded[kNumLanes];
    for (int i = 0; i < kNumLanes; ++i) {
        padded[i] = i < count ? to_float(source[i]) : fill;
    }
    return load<kWidth>(padded);
}

template <int kWidth>
NANOSERVE_INLINE void store(Lanes<kWidth> lanes, float* target) {
    __builtin_memcpy(target, &lanes, sizeof lanes);
}

template <int kWidth>
NANOSERVE_INLINE void store_first(Lanes<kWidth> lanes, float* target, std::int64_t count) {
    float padded[kNumLanes];
    store<kWidth>(lanes, padded);
    for (std::int64_t i = 0; i < count; ++i) {
        target[i] = padded[i];
    }
}

/// sum += a * b, each product rounded before it is added.
template <int kWidth>
NANOSERVE_INLINE void add_product(Lanes<kWidth>& sum, const Lanes<kWidth>& a,
                                  const Lanes<kWidth>& b) {
    for (int i = 0; i < sum.kNumParts; ++i) {
        sum.part[i] += a.part[i] * b.part[i];
    }
}

/// sum += a * b with one factor for all lanes, each product rounded before it is added.
template <int kWidth>
NANOSERVE_INLINE void add_scaled(Lanes<kWidth>& sum, float a, const Lanes<kWidth>& b) {
    for (int i = 0; i < sum.kNumParts; ++i) {
        sum.part[i] += a * b.part[i];
    }
}

/// Four lanes in one register.
using FourLanes = Register<4>::Float;

// Lane l of the result combines lanes l and l + kWidth / 2 of `x`, and so on down to four lanes.
template <int kWidth, class Combine>
NANOSERVE_INLINE FourLanes halve_to_four(typename Register<kWidth>::Float x, Combine combine) {
    if constexpr (kWidth == 16) {
        const auto low = __builtin_shufflevector(x, x, 0, 1, 2, 3, 4, 5, 6, 7);
        const auto high = __builtin_shufflevector(x, x, 8, 9, 10, 11, 12, 13, 14, 15);
        return halve_to_four<8>(combine(low, high), combine);
    } else if constexpr (kWidth == 8) {
        const auto low = __builtin_shufflevector(x, x, 0, 1, 2, 3);
        const auto high = __builtin_shufflevector(x, x, 4, 5, 6, 7);
        return combine(low, high);
    } else {
        return x;
    }
}

/// Combines lanes l and l + 8, then l and l + 4: four lanes are left.
template <int kWidth, class Combine>
NANOSERVE_INLINE FourLanes fold_to_four(Lanes<kWidth> lanes, Combine combine) {
    for (int parts = lanes.kNumParts / 2; parts > 0; parts /= 2) {
        for (int i = 0; i < parts; ++i) {
            lanes.part[i] = combine(lanes.part[i], lanes.part[i + parts]);
        }
    }
    return halve_to_four<kWidth>(lanes.part[0], combine);
}

/// Combines all lanes as a tree: fold_to_four, then l + 2, l + 1; the same tree for every kWidth.
template <int kWidth, class Combine>
NANOSERVE_INLINE float fold(const Lanes<kWidth>& lanes, Combine combine) {
    const FourLanes four = fold_to_four(lanes, combine);
    const FourLanes pairs = combine(four, __builtin_shufflevector(four, four, 2, 3, 0, 1));
    return combine(pairs, __builtin_shufflevector(pairs, pairs, 1, 0, 3, 2))[0];
}

struct Add {
    template <class V>
    __attribute__((always_inline)) V operator()(const V& a, const V& b) const {
        return a + b;
    }
};

struct Max {
    template <class V>
    __attribute__((always_inline)) V operator()(const V& a, const V& b) const {
        return a > b ? a : b;
    }
};

/// e^x of each lane, for x <= 0: at most 2 units in the last place from the true value; 0 below
/// -87, where the true value is under 1.7e-38; NaN stays NaN.
///
/// x = n ln 2 + r with |r| <= ln 2 / 2, e^x = 2^n e^r. The Taylor series of e^r ends at r^7 / 7!;
/// what is left out is at most 0.3466^8 / 8! = 5.2e-9 of e^r >= 0.7, an eighth of a rounding step.
template <int kWidth>
NANOSERVE_INLINE typename Register<kWidth>::Float exp_register(typename Register<kWidth>::Float x) {
    using R = Register<kWidth>;
    constexpr float kLog2E = 1.44269504f;
    constexpr float kLn2High =
        0.693145752f;  // 16 bits of ln 2: n * kLn2High is exact for |n| < 256
    constexpr float kLn2Low = 1.42860677e-6f;  // the rest of it
    constexpr float kRoundToInteger =
        12582912.f;  // 1.5 * 2^23: adding it leaves no bit for a fraction

    const auto shifted = x * kLog2E + kRoundToInteger;
    const auto n = shifted - kRoundToInteger;
    const auto r = (x - n * kLn2High) - n * kLn2Low;
    auto series = r * (1.f / 5040) + (1.f / 720);
    series = series * r + (1.f / 120);
    series = series * r + (1.f / 24);
    series = series * r + (1.f / 6);
    series = series * r + 0.5f;
    series = series * r + 1.f;
    series = series * r + 1.f;
    // Unsigned, because a score far below the maximum wraps here; its result is not used.
    const auto n_bits =
        (typename R::Uint)shifted - (typename R::Uint)(kRoundToInteger - typename R::Float{});
    const auto power_of_two = (typename R::Float)((n_bits + 127u) << 23);
    const typename R::Float zero = {};
    return x < -87.f ? zero : series * power_of_two;
}

}  // namespace nanoserve::detail
