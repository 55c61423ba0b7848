// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// All 256 codes of e4m3, and the floats around every one of them.
#include <nanoserve/model/dtype.hpp>

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>

using nanoserve::e4m3_from_float;
using nanoserve::Fp8E4m3;
using nanoserve::to_float;

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr std::uint32_t kLargest = 0x7eu;

float value_of(std::uint32_t code) {
    return to_float(Fp8E4m3{static_cast<std::uint8_t>(code)});
}

std::uint32_t code_of(float x) {
    return e4m3_from_float(x).bits;
}

// What a code means, straight from the definition of the format.
double defined_value(std::uint32_t code) {
    const double sign = (code & 0x80u) != 0 ? -1.0 : 1.0;
    const int exponent = static_cast<int>((code >> 3) & 0xfu);
    const double fraction = (code & 0x7u) / 8.0;
    if (exponent == 0) {
        return sign * std::ldexp(fraction, -6);
    }
    return sign * std::ldexp(1.0 + fraction, exponent - 7);
}

// The nearest code by looking at all of them: of two equally near ones the even one.
std::uint32_t nearest_code(float x) {
    std::uint32_t nearest = 0;
    for (std::uint32_t code = 1; code <= kLargest; ++code) {
        const double before = std::abs(defined_value(nearest) - std::abs(double{x}));
        const double now = std::abs(defined_value(code) - std::abs(double{x}));
        if (now < before || (now == before && code % 2 == 0)) {
            nearest = code;
        }
    }
    return nearest | (std::signbit(x) ? 0x80u : 0u);
}

}  // namespace

TEST_CASE("every code of e4m3 has the value that the format defines, and comes back", "[model]") {
    std::uint32_t num_nan = 0;
    for (std::uint32_t code = 0; code < 256; ++code) {
        CAPTURE(code);
        const float value = value_of(code);
        if ((code & 0x7fu) == 0x7fu) {
            CHECK(std::isnan(value));
            ++num_nan;
        } else {
            CHECK(double{value} == defined_value(code));
            CHECK(std::signbit(value) == (code >= 0x80u));
        }
        CHECK(code_of(value) == code);
    }
    CHECK(num_nan == 2);
    CHECK(value_of(kLargest) == 448.0f);
    CHECK(value_of(0x01u) == 0x1p-9f);
    CHECK(value_of(0x08u) == 0x1p-6f);
}

TEST_CASE("a float between two e4m3 values goes to the nearer one, a tie to the even one",
          "[model]") {
    for (std::uint32_t code = 0; code < kLargest; ++code) {
        for (const float sign : {1.0f, -1.0f}) {
            const std::uint32_t sign_bit = sign < 0.0f ? 0x80u : 0u;
            const float low = value_of(code);
            const float high = value_of(code + 1);
            const float middle = (low + high) / 2;  // exact: one bit more than they have
            CAPTURE(code, sign);
            CHECK(code_of(sign * middle) == (sign_bit | (code + code % 2)));
            CHECK(code_of(sign * std::nextafter(middle, 0.0f)) == (sign_bit | code));
            CHECK(code_of(sign * std::nextafter(middle, kInfinity)) == (sign_bit | (code + 1)));
            CHECK(code_of(sign * std::nextafter(low, kInfinity)) == (sign_bit | code));
            CHECK(code_of(sign * std::nextafter(high, 0.0f)) == (sign_bit | (code + 1)));
        }
    }
}

TEST_CASE("floats of every size go to the nearest e4m3 value", "[model]") {
    std::mt19937 random(8);
    std::uniform_real_distribution<float> exponent(-14.0f, 9.0f);
    for (int i = 0; i < 20000; ++i) {
        const float x = std::exp2(exponent(random)) * (random() % 2 == 0 ? 1.0f : -1.0f);
        CAPTURE(i, x);
        REQUIRE(code_of(x) == nearest_code(x));
    }
}

TEST_CASE("what is too large for e4m3 becomes 448, and NaN stays NaN", "[model]") {
    for (const float x :
         {448.0f, 449.0f, 464.0f, 480.0f, 65536.0f, std::numeric_limits<float>::max(), kInfinity}) {
        CHECK(code_of(x) == 0x7eu);
        CHECK(code_of(-x) == 0xfeu);
    }
    for (const std::uint32_t nan : {0x7f800001u, 0x7fc00000u, 0x7fffffffu}) {
        CHECK(code_of(std::bit_cast<float>(nan)) == 0x7fu);
        CHECK(code_of(std::bit_cast<float>(nan | 0x80000000u)) == 0xffu);
    }
}

TEST_CASE("what is too small for e4m3 becomes a zero of its sign", "[model]") {
    for (const float x : {0.0f, std::numeric_limits<float>::denorm_min(),
                          std::numeric_limits<float>::min(), 0x1p-10f}) {
        CHECK(code_of(x) == 0x00u);
        CHECK(code_of(-x) == 0x80u);
    }
    CHECK(code_of(std::nextafter(0x1p-10f, 1.0f)) == 0x01u);
}

TEST_CASE("quantise divides by the scale of a pool of fp8, and by nothing elsewhere", "[model]") {
    constexpr float kScale = 0.37f;
    std::mt19937 random(9);
    std::uniform_real_distribution<float> uniform(-448.0f * kScale, 448.0f * kScale);
    for (int i = 0; i < 1000; ++i) {
        const float x = uniform(random);
        CAPTURE(i, x);
        REQUIRE(nanoserve::quantise<Fp8E4m3>(x, kScale).bits == nearest_code(x / kScale));
        // Half a step of e4m3 is 2^-4 of the value, or 2^-10 where it is subnormal.
        const double back = double{to_float(nanoserve::quantise<Fp8E4m3>(x, kScale))} * kScale;
        REQUIRE(std::abs(back - x) <= std::max(0x1p-4 * std::abs(x), 0x1p-10 * kScale));
        REQUIRE(nanoserve::quantise<nanoserve::Bf16>(x, 1.0f).bits ==
                nanoserve::from_float<nanoserve::Bf16>(x).bits);
    }
    CHECK(nanoserve::quantise<Fp8E4m3>(449.0f * kScale, kScale).bits == 0x7eu);
}

TEST_CASE("e4m3_scale stores the largest value as 448", "[model]") {
    std::mt19937 random(10);
    std::uniform_real_distribution<float> exponent(-99.0f, 127.0f);
    for (int i = 0; i < 1000; ++i) {
        const float largest = std::exp2(exponent(random));
        CAPTURE(i, largest);
        const float scale = nanoserve::e4m3_scale(largest);
        REQUIRE(std::isnormal(scale));
        REQUIRE(nanoserve::quantise_e4m3(largest, scale).bits == kLargest);
        REQUIRE(nanoserve::quantise_e4m3(-largest, scale).bits == (kLargest | 0x80u));
    }
    CHECK(nanoserve::e4m3_scale(0.0f) == 1.0f);
    CHECK(nanoserve::e4m3_scale(0x1p-149f) == 1.0f);
    CHECK(std::isnormal(nanoserve::e4m3_scale(0x1p-100f)));
}

TEST_CASE("e4m3 is a type of pools, not of q and out", "[model]") {
    using nanoserve::DType;
    CHECK(nanoserve::bytes_of(DType::fp8_e4m3) == 1);
    CHECK(nanoserve::to_string(DType::fp8_e4m3) == "fp8_e4m3");
    CHECK(nanoserve::parse_dtype("fp8_e4m3") == DType::fp8_e4m3);
    for (const DType dtype : {DType::fp32, DType::fp16, DType::bf16}) {
        CHECK(nanoserve::is_pool_dtype(dtype));
        CHECK(nanoserve::is_io_dtype(dtype));
    }
    CHECK(nanoserve::is_pool_dtype(DType::fp8_e4m3));
    CHECK_FALSE(nanoserve::is_io_dtype(DType::fp8_e4m3));
    CHECK_FALSE(nanoserve::is_pool_dtype(static_cast<DType>(4)));
    static_assert(to_float(e4m3_from_float(0.3f)) == 0.3125f, "usable where constants are");
}
