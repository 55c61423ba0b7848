// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanoserve/model/fp8_e4m3.hpp>

#include <bit>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <utility>

namespace nanoserve {

/// Element type of a pool, of q and of out. Arithmetic is fp32 whatever the storage.
enum class DType : std::uint8_t {
    fp32,      ///< float, 4 bytes
    fp16,      ///< Fp16, 2 bytes
    bf16,      ///< Bf16, 2 bytes
    fp8_e4m3,  ///< Fp8E4m3, 1 byte; of pools alone, see is_io_dtype() and KVScales
};

/// bfloat16 storage: the upper half of a float. Not an arithmetic type.
struct Bf16 {
    std::uint16_t bits = 0;  ///< 1 sign, 8 exponent, 7 fraction bits
};

/// IEEE binary16 storage: 1 sign, 5 exponent, 10 fraction bits. Not an arithmetic type.
struct Fp16 {
    std::uint16_t bits = 0;  ///< as stored
};

/// Bytes of one element.
[[nodiscard]] constexpr std::int64_t bytes_of(DType dtype) {
    return dtype == DType::fp32 ? 4 : dtype == DType::fp8_e4m3 ? 1 : 2;
}

/// Whether a pool can have elements of this type: all that DType names.
[[nodiscard]] constexpr bool is_pool_dtype(DType dtype) {
    return dtype <= DType::fp8_e4m3;
}

/// Whether q and out can have elements of this type: fp32, fp16 and bf16.
[[nodiscard]] constexpr bool is_io_dtype(DType dtype) {
    return dtype < DType::fp8_e4m3;
}

/// "fp32", "fp16", "bf16" or "fp8_e4m3".
[[nodiscard]] std::string_view to_string(DType dtype);

/// The inverse of to_string. Throws std::invalid_argument naming the text and the known names.
[[nodiscard]] DType parse_dtype(std::string_view text);

/// Exact.
[[nodiscard]] constexpr float to_float(float x) {
    return x;
}

/// Exact.
[[nodiscard]] constexpr float to_float(Bf16 x) {
    return std::bit_cast<float>(static_cast<std::uint32_t>(x.bits) << 16);
}

/// Exact, subnormals, infinities and NaN included; also where the processor takes subnormal floats
/// for 0, as it does in a program that was linked with -ffast-math: no subnormal float is made.
[[nodiscard]] constexpr float to_float(Fp16 x) {
    const std::uint32_t sign = static_cast<std::uint32_t>(x.bits & 0x8000u) << 16;
    const std::uint32_t magnitude = x.bits & 0x7fffu;
    const float subnormal = static_cast<float>(magnitude) * 0x1p-24f;
    const std::uint32_t rebias = magnitude < 0x7c00u ? (127u - 15u) << 23 : (255u - 31u) << 23;
    const std::uint32_t bits =
        magnitude < 0x0400u ? std::bit_cast<std::uint32_t>(subnormal) : (magnitude << 13) + rebias;
    return std::bit_cast<float>(sign | bits);
}

/// Conversion from float to a storage type T, rounding to the nearest, ties to even; too large a
/// value becomes infinity, in Fp8E4m3 the largest one, and NaN stays NaN.
template <class T>
[[nodiscard]] constexpr T from_float(float x);

/// Exact.
template <>
constexpr float from_float<float>(float x) {
    return x;
}

/// Keeps the upper 16 bits, rounded by the lower ones.
template <>
constexpr Bf16 from_float<Bf16>(float x) {
    const auto bits = std::bit_cast<std::uint32_t>(x);
    if ((bits & 0x7fffffffu) > 0x7f800000u) {  // NaN: rounding could carry it into infinity
        return {static_cast<std::uint16_t>((bits >> 16) | 0x0040u)};
    }
    const std::uint32_t round_to_even = 0x7fffu + ((bits >> 16) & 1u);
    return {static_cast<std::uint16_t>((bits + round_to_even) >> 16)};
}

/// Values below 2^-14 become subnormal.
template <>
constexpr Fp16 from_float<Fp16>(float x) {
    const auto bits = std::bit_cast<std::uint32_t>(x);
    const auto sign = static_cast<std::uint16_t>((bits >> 16) & 0x8000u);
    const std::uint32_t magnitude = bits & 0x7fffffffu;
    const auto with_sign = [sign](std::uint32_t half) {
        return Fp16{static_cast<std::uint16_t>(sign | half)};
    };
    if (magnitude > 0x7f800000u) {  // NaN
        return with_sign(0x7e00u | ((magnitude >> 13) & 0x3ffu));
    }
    if (magnitude >= 0x477ff000u) {  // 65520 and above round to infinity
        return with_sign(0x7c00u);
    }
    if (magnitude <
        0x38800000u) {  // below 2^-14: adding 0.5 rounds the value to multiples of 2^-24
        const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
        return with_sign(std::bit_cast<std::uint32_t>(shifted) -
                         std::bit_cast<std::uint32_t>(0.5f));
    }
    const std::uint32_t round_to_even = 0xfffu + ((magnitude >> 13) & 1u);
    return with_sign((magnitude + round_to_even - (112u << 23)) >> 13);
}

/// As e4m3_from_float().
template <>
constexpr Fp8E4m3 from_float<Fp8E4m3>(float x) {
    return e4m3_from_float(x);
}

/// The element that stands for x in a pool of T: x / scale, rounded. Only fp8 has scales, so that
/// of every other type is 1.
template <class T>
[[nodiscard]] constexpr T quantise(float x, [[maybe_unused]] float scale) {
    if constexpr (std::is_same_v<T, Fp8E4m3>) {
        return quantise_e4m3(x, scale);
    } else {
        return from_float<T>(x);
    }
}

/// Calls `action.template operator()<T>()` with the storage type T of `dtype`, which is one of q
/// and out: fewer types than a pool may have, and so less to compile.
template <class Action>
decltype(auto) visit_io_dtype(DType dtype, Action&& action) {
    if (dtype == DType::fp16) {
        return std::forward<Action>(action).template operator()<Fp16>();
    }
    if (dtype == DType::bf16) {
        return std::forward<Action>(action).template operator()<Bf16>();
    }
    return std::forward<Action>(action).template operator()<float>();
}

/// Calls `action.template operator()<T>()` with the storage type T of `dtype`.
template <class Action>
decltype(auto) visit_dtype(DType dtype, Action&& action) {
    if (dtype == DType::fp8_e4m3) {
        return std::forward<Action>(action).template operator()<Fp8E4m3>();
    }
    return visit_io_dtype(dtype, std::forward<Action>(action));
}

}  // namespace nanoserve
