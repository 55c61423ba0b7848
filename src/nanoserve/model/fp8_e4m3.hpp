// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstdint>

namespace nanoserve {

/// 8-bit storage: 1 sign, 4 exponent, 3 fraction bits, with the bias 7. This is the format that the
/// Open Compute Project calls E4M3 and others "e4m3fn": no infinity, and a single NaN for each
/// sign, 0x7f and 0xff, so that the largest value is 448. The smallest normal value is 2^-6, the
/// subnormal ones are multiples of 2^-9. Not an arithmetic type, and meant for pools alone.
struct Fp8E4m3 {
    std::uint8_t bits = 0;  ///< as stored
};

/// The largest value of an Fp8E4m3.
inline constexpr float kE4m3Largest = 448.0f;

//! [to float]
/// Exact, subnormals and NaN included.
[[nodiscard]] constexpr float to_float(Fp8E4m3 x) {
    const std::uint32_t sign = std::uint32_t{x.bits & 0x80u} << 24;
    const std::uint32_t magnitude = x.bits & 0x7fu;
    if (magnitude == 0x7fu) {  // NaN
        return std::bit_cast<float>(sign | 0x7fc00000u);
    }
    if (magnitude < 0x08u) {  // subnormal: no float is, so a float's bits can't be had by shifting
        const float value = static_cast<float>(magnitude) * 0x1p-9f;
        return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(value));
    }
    // The exponent moves from bit 3 to bit 23, and its bias from 7 to 127.
    return std::bit_cast<float>(sign | ((magnitude << 20) + (120u << 23)));
}
//! [to float]

//! [from float]
/// Rounds to the nearest, ties to even. A value beyond the largest, infinity too, becomes +-448,
/// as engines for inference store it: an outlier is cut, it does not spoil its row. NaN stays NaN.
[[nodiscard]] constexpr Fp8E4m3 e4m3_from_float(float x) {
    const auto bits = std::bit_cast<std::uint32_t>(x);
    const std::uint32_t magnitude = bits & 0x7fffffffu;
    const auto with_sign = [bits](std::uint32_t code) {
        return Fp8E4m3{static_cast<std::uint8_t>(((bits >> 24) & 0x80u) | code)};
    };
    if (magnitude > 0x7f800000u) {  // NaN
        return with_sign(0x7fu);
    }
    if (magnitude >= 0x43e00000u) {  // 448
        return with_sign(0x7eu);
    }
    if (magnitude < 0x3c800000u) {  // below 2^-6: adding 2^14 rounds to multiples of 2^-9
        const float shifted = std::bit_cast<float>(magnitude) + 0x1p14f;
        return with_sign(std::bit_cast<std::uint32_t>(shifted) -
                         std::bit_cast<std::uint32_t>(0x1p14f));
    }
    const std::uint32_t round_to_even = 0x7ffffu + ((magnitude >> 20) & 1u);
    return with_sign((magnitude + round_to_even - (120u << 23)) >> 20);
}
//! [from float]

//! [quantise]
/// The element that stands for x in a pool with this scale: a reader multiplies it by `scale`
/// again. `scale` is finite and positive.
[[nodiscard]] constexpr Fp8E4m3 quantise_e4m3(float x, float scale) {
    return e4m3_from_float(x / scale);
}
//! [quantise]

//! [scale]
/// A scale for values of magnitudes up to `largest`, which is finite: the one that stores `largest`
/// as 448, so that no code is left unused and nothing saturates. 1 where all values are 0, or so
/// small (below 2^-100) that the quotient could be no normal float.
[[nodiscard]] constexpr float e4m3_scale(float largest) {
    return largest < 0x1p-100f ? 1.0f : largest / kE4m3Largest;
}
//! [scale]

}  // namespace nanoserve
