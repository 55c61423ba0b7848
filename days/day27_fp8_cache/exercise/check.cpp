// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// Day 27: which behaviours has the code of e4m3?
#include "exercise/expect.hpp"

#include <nanoserve/model/fp8_e4m3.hpp>

#include <catch2/catch_test_macros.hpp>

#include <bit>
#include <cmath>
#include <limits>
#include <string>

using namespace nanoserve;
using namespace nanoserve::testing;

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr int kLargestCode = 0x7e;

// A code in words: 0b1.1110.110, its sign, exponent and fraction bits.
std::string code_text(unsigned code) {
    std::string text = "0b";
    for (int bit = 7; bit >= 0; --bit) {
        text += (code >> bit & 1u) != 0 ? '1' : '0';
        text += bit == 7 || bit == 3 ? "." : "";
    }
    return text;
}

std::string float_text(float x) {
    return std::to_string(std::bit_cast<std::uint32_t>(x)) + " as bits, " + std::to_string(x);
}

// What a code means by the definition of the format, sign apart; it is not NaN.
double magnitude_of(int code) {
    const int exponent = code / 8;
    const double fraction = code % 8 / 8.0;
    return exponent == 0 ? std::ldexp(fraction, -6) : std::ldexp(1.0 + fraction, exponent - 7);
}

void expect_values(int first, int last) {
    for (int code = first; code <= last; ++code) {
        for (const int sign : {0, 0x80}) {
            const auto whole = static_cast<std::uint8_t>(code | sign);
            const double magnitude = magnitude_of(code);
            expect_equal("the value of " + code_text(whole), double{to_float(Fp8E4m3{whole})},
                         sign != 0 ? -magnitude : magnitude);
        }
    }
}

void expect_code(float x, int code) {
    expect_equal("the code of " + float_text(x), code_text(e4m3_from_float(x).bits),
                 code_text(static_cast<unsigned>(code)));
}

// Both signs; `x` is positive or NaN.
void expect_codes(float x, int code) {
    expect_code(x, code);
    expect_code(-x, code | 0x80);
}

float middle_above(int code) {
    return static_cast<float>((magnitude_of(code) + magnitude_of(code + 1)) / 2.0);
}

}  // namespace

TEST_CASE("a normal code has its value: 1.fraction times 2^(exponent - 7)") {
    expect_values(0x08, 0x77);
}

TEST_CASE("the highest exponent is one of numbers: 256 to 448") {
    expect_values(0x78, kLargestCode);
}

TEST_CASE("a subnormal code is a multiple of 2^-9, zero has a sign") {
    expect_values(0x00, 0x07);
    expect_equal("the sign of the value of " + code_text(0x80u),
                 std::signbit(to_float(Fp8E4m3{0x80})) ? "-" : "+", "-");
}

TEST_CASE("0x7f and 0xff are NaN, of both signs") {
    for (const std::uint8_t code : {std::uint8_t{0x7f}, std::uint8_t{0xff}}) {
        expect_equal("the value of " + code_text(code),
                     std::isnan(to_float(Fp8E4m3{code})) ? "NaN" : "a number", "NaN");
    }
}

TEST_CASE("the value of a code becomes that code") {
    for (int code = 0; code <= kLargestCode; ++code) {
        expect_codes(static_cast<float>(magnitude_of(code)), code);
    }
}

TEST_CASE("a normal value goes to the nearer code") {
    for (int code = 0x08; code < kLargestCode; ++code) {
        expect_codes(std::nextafter(middle_above(code), 0.0f), code);
        expect_codes(std::nextafter(middle_above(code), kInfinity), code + 1);
    }
}

TEST_CASE("halfway between two normal codes the even one is taken") {
    for (int code = 0x08; code < kLargestCode; ++code) {
        expect_codes(middle_above(code), code + code % 2);
    }
}

TEST_CASE("below 2^-6 it is rounded to multiples of 2^-9, halves to the even one") {
    for (int code = 0; code < 0x08; ++code) {
        expect_codes(std::nextafter(middle_above(code), 0.0f), code);
        expect_codes(middle_above(code), code + code % 2);
        expect_codes(std::nextafter(middle_above(code), kInfinity), code + 1);
    }
    expect_codes(std::numeric_limits<float>::denorm_min(), 0);
}

TEST_CASE("what is larger than 448 becomes 448, infinity too") {
    for (const float x : {449.0f, 463.0f, 464.0f, 465.0f, 480.0f, 512.0f, 65536.0f,
                          std::numeric_limits<float>::max(), kInfinity}) {
        expect_codes(x, kLargestCode);
    }
}

TEST_CASE("NaN stays NaN and keeps its sign") {
    for (const std::uint32_t bits : {0x7f800001u, 0x7fc00000u, 0x7fffffffu}) {
        expect_codes(std::bit_cast<float>(bits), 0x7f);
    }
}

TEST_CASE("a value is divided by the scale before it is rounded") {
    for (const float scale : {1.0f, 0.25f, 3.0f, 0.37f, 1000.0f}) {
        for (int code = 0x08; code < kLargestCode; ++code) {
            const float x = static_cast<float>(magnitude_of(code)) * scale;
            expect_equal(
                "the code of " + float_text(x) + " with the scale " + std::to_string(scale),
                code_text(quantise_e4m3(x, scale).bits), code_text(static_cast<unsigned>(code)));
        }
    }
    expect_equal("the code of 1 with the scale 2^-9", code_text(quantise_e4m3(1.0f, 0x1p-9f).bits),
                 code_text(static_cast<unsigned>(kLargestCode)));
}

TEST_CASE("the scale of a pool stores its largest value as 448") {
    for (const float largest : {0x1p-100f, 0.001f, 1.0f, 5.3f, 448.0f, 1e6f, 3e38f}) {
        const float scale = e4m3_scale(largest);
        expect_equal("the scale for values up to " + std::to_string(largest) + ", times 448",
                     double{scale} * 448.0 / double{largest} < 1.0 + 0x1p-23 &&
                             double{scale} * 448.0 / double{largest} > 1.0 - 0x1p-23
                         ? "that value"
                         : std::to_string(double{scale} * 448.0),
                     "that value");
    }
}

TEST_CASE("a pool of zeros keeps the scale 1") {
    expect_equal("the scale for values up to 0", double{e4m3_scale(0.0f)}, 1.0);
    expect_equal("the scale for values up to 2^-149",
                 double{e4m3_scale(std::numeric_limits<float>::denorm_min())}, 1.0);
}
