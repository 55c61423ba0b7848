// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include "support/subnormals_are_zero.hpp"

#include <nanoserve/model/dtype.hpp>

#include <catch2/catch_test_macros.hpp>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <vector>

using nanoserve::Bf16;
using nanoserve::DType;
using nanoserve::Fp16;
using nanoserve::from_float;
using nanoserve::to_float;

namespace {

// What an fp16 pattern means, straight from the definition of the format.
double value_of_half(std::uint32_t bits) {
    const double sign = (bits & 0x8000u) != 0 ? -1.0 : 1.0;
    const int exponent = static_cast<int>((bits >> 10) & 0x1fu);
    const double fraction = (bits & 0x3ffu) / 1024.0;
    if (exponent == 0) {
        return sign * std::ldexp(fraction, -14);
    }
    return sign * std::ldexp(1.0 + fraction, exponent - 15);
}

}  // namespace

TEST_CASE("every finite fp16 pattern converts to its value and back to itself", "[model]") {
    std::uint32_t num_wrong = 0;
    for (std::uint32_t bits = 0; bits < 0x10000u; ++bits) {
        if ((bits & 0x7c00u) == 0x7c00u) {
            continue;
        }
        const float value = to_float(Fp16{static_cast<std::uint16_t>(bits)});
        num_wrong += double{value} != value_of_half(bits);
        num_wrong += from_float<Fp16>(value).bits != bits;
    }
    CHECK(num_wrong == 0);
}

TEST_CASE("OPEN-02: fp16 has its subnormals where the processor takes them for 0", "[model]") {
    std::vector<float> values(0x7c00);
    bool was_so = false;
    {
        const nanoserve::testing::SubnormalsAreZero mode;
        was_so = mode.holds();
        for (std::size_t i = 0; i < values.size(); ++i) {
            values[i] = to_float(Fp16{static_cast<std::uint16_t>(i)});
        }
    }
    if (!was_so) {
        SKIP("this processor cannot be told to");
    }
    std::size_t num_wrong = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
        num_wrong += double{values[i]} != value_of_half(static_cast<std::uint32_t>(i));
    }
    CHECK(num_wrong == 0);
}

TEST_CASE("every bf16 pattern that is not NaN survives the way to float and back", "[model]") {
    std::uint32_t num_wrong = 0;
    for (std::uint32_t bits = 0; bits < 0x10000u; ++bits) {
        const float value = to_float(Bf16{static_cast<std::uint16_t>(bits)});
        num_wrong += !std::isnan(value) && from_float<Bf16>(value).bits != bits;
    }
    CHECK(num_wrong == 0);
}

TEST_CASE("a float between two storage values goes to the nearer one, a tie to the even one",
          "[model]") {
    std::uint32_t num_wrong = 0;
    for (std::uint32_t bits = 0; bits < 0x7bffu; ++bits) {  // fp16 neighbours bits and bits + 1
        const float low = to_float(Fp16{static_cast<std::uint16_t>(bits)});
        const float high = to_float(Fp16{static_cast<std::uint16_t>(bits + 1)});
        const float middle = (low + high) / 2;
        num_wrong += from_float<Fp16>(middle).bits != bits + (bits & 1u);
        num_wrong += from_float<Fp16>(std::nextafter(middle, low)).bits != bits;
        num_wrong += from_float<Fp16>(std::nextafter(middle, high)).bits != bits + 1;
    }
    for (std::uint32_t bits = 0; bits < 0x7f7fu; ++bits) {
        const auto wide = bits << 16;
        num_wrong +=
            from_float<Bf16>(std::bit_cast<float>(wide + 0x8000u)).bits != bits + (bits & 1u);
        num_wrong += from_float<Bf16>(std::bit_cast<float>(wide + 0x7fffu)).bits != bits;
        num_wrong += from_float<Bf16>(std::bit_cast<float>(wide + 0x8001u)).bits != bits + 1;
    }
    CHECK(num_wrong == 0);
}

TEST_CASE("too large becomes infinity, NaN stays NaN, the sign of zero is kept", "[model]") {
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    CHECK(to_float(from_float<Fp16>(65519.0f)) == 65504.0f);
    CHECK(to_float(from_float<Fp16>(65520.0f)) == kInfinity);
    CHECK(to_float(from_float<Fp16>(-kInfinity)) == -kInfinity);
    CHECK(to_float(from_float<Bf16>(3.4e38f)) == kInfinity);
    CHECK(to_float(from_float<Bf16>(-kInfinity)) == -kInfinity);
    const float nan_with_low_bits = std::bit_cast<float>(0x7f800001u);
    CHECK(std::isnan(to_float(from_float<Fp16>(nan_with_low_bits))));
    CHECK(std::isnan(to_float(from_float<Bf16>(nan_with_low_bits))));
    CHECK(from_float<Fp16>(-0.0f).bits == 0x8000u);
    CHECK(from_float<Bf16>(-0.0f).bits == 0x8000u);
}

TEST_CASE("dtype names are read as they are written", "[model]") {
    for (const DType dtype : {DType::fp32, DType::fp16, DType::bf16}) {
        CHECK(nanoserve::parse_dtype(nanoserve::to_string(dtype)) == dtype);
    }
    CHECK(nanoserve::bytes_of(DType::fp32) == 4);
    CHECK(nanoserve::bytes_of(DType::fp16) == 2);
    CHECK_THROWS_AS(nanoserve::parse_dtype("fp8"), std::invalid_argument);
}
