// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// The steps of a read, alone: exactness of their conversions, accuracy of exp, and the same bits on
// every instruction set.
#include "support/subnormals_are_zero.hpp"

#include <nanoserve/attention/detail/read_state.hpp>
#include <nanoserve/attention/detail/row_ops.hpp>
#include <nanoserve/attention/read_context.hpp>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>

#include <bit>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

using nanoserve::DType;
using nanoserve::Fp16;
using nanoserve::InstructionSet;
using nanoserve::detail::row_ops;

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

std::vector<float> random_floats(std::size_t count, std::uint32_t seed, float low, float high) {
    std::mt19937 random(seed);
    std::uniform_real_distribution<float> uniform(low, high);
    std::vector<float> values(count);
    for (float& value : values) {
        value = uniform(random);
    }
    return values;
}

std::vector<std::uint32_t> bits_of(const std::vector<float>& values) {
    std::vector<std::uint32_t> bits;
    for (const float value : values) {
        bits.push_back(std::bit_cast<std::uint32_t>(value));
    }
    return bits;
}

}  // namespace

TEST_CASE("exponentiate is within two units in the last place of exp", "[attention]") {
    const InstructionSet set = GENERATE(from_range(nanoserve::available_instruction_sets()));
    CAPTURE(nanoserve::to_string(set));
    auto scores = random_floats(100000, 3, -87.0f, 0.0f);
    scores.front() = 0.0f;  // the maximum, so that nothing is shifted
    const auto inputs = scores;
    row_ops(set, DType::fp32).exponentiate(scores.data(), std::ssize(scores));
    double worst = 0.0;
    for (std::size_t i = 0; i < scores.size(); ++i) {
        const double exact = std::exp(double{inputs[i]});
        const double step = std::ldexp(1.0, std::ilogb(exact) - 23);
        worst = std::max(worst, std::abs(double{scores[i]} - exact) / step);
    }
    CHECK(scores.front() == 1.0f);
    CHECK(worst <= 2.0);
}

TEST_CASE("exponentiate turns far scores and hidden tokens into 0 and a hidden row into zeros",
          "[attention]") {
    const InstructionSet set = GENERATE(from_range(nanoserve::available_instruction_sets()));
    const auto& ops = row_ops(set, DType::fp32);
    std::vector<float> scores = {80000.0f, 79200.0f, -80000.0f, -kInfinity};
    auto sums = ops.exponentiate(scores.data(), 4);
    CHECK(scores == std::vector<float>{1.0f, 0.0f, 0.0f, 0.0f});
    CHECK(sums.max == 80000.0f);
    CHECK(sums.sum == 1.0f);

    std::vector<float> hidden(19, -kInfinity);
    sums = ops.exponentiate(hidden.data(), 19);
    CHECK(hidden == std::vector<float>(19, 0.0f));
    CHECK(sums.sum == 0.0f);
    CHECK(sums.max == -kInfinity);

    CHECK(ops.exponentiate(nullptr, 0).sum == 0.0f);

    std::vector<float> poisoned = {0.0f, std::numeric_limits<float>::quiet_NaN()};
    CHECK(std::isnan(ops.exponentiate(poisoned.data(), 2).sum));  // NaN in valid data is not hidden
}

TEST_CASE("every step has the same bits on every instruction set", "[attention]") {
    const std::int64_t head_dim = GENERATE(1, 8, 15, 16, 17, 64, 80, 96, 128, 256);
    const std::int64_t num_heads = GENERATE(1, 3, 4, 9);
    constexpr std::int64_t kNumRows = 21;
    CAPTURE(head_dim, num_heads);
    const auto q = random_floats(static_cast<std::size_t>(num_heads * head_dim), 1, -3.0f, 3.0f);
    const auto rows = random_floats(static_cast<std::size_t>(kNumRows * head_dim), 2, -1.0f, 1.0f);

    std::vector<std::uint32_t> expected;
    for (const InstructionSet set : nanoserve::available_instruction_sets()) {
        CAPTURE(nanoserve::to_string(set));
        const auto& ops = row_ops(set, DType::fp32);
        const nanoserve::detail::Rows view = {rows.data(), 4, head_dim, kNumRows, head_dim};
        std::vector<float> scores(static_cast<std::size_t>(num_heads * kNumRows));
        std::vector<float> out(q.size(), 0.0f);
        ops.score_rows(q.data(), num_heads, view, 0.3f, {scores.data(), kNumRows});
        std::vector<float> all = scores;
        for (std::int64_t h = 0; h < num_heads; ++h) {
            const auto sums = ops.exponentiate(scores.data() + h * kNumRows, kNumRows);
            all.insert(all.end(), {sums.max, sums.sum});
        }
        ops.accumulate_rows({scores.data(), kNumRows}, num_heads, view, out.data());
        all.insert(all.end(), scores.begin(), scores.end());
        all.insert(all.end(), out.begin(), out.end());
        if (expected.empty()) {
            expected = bits_of(all);
        }
        CHECK(bits_of(all) == expected);
    }
}

TEST_CASE("vector loads of 16-bit storage agree with the scalar conversion on all patterns",
          "[attention]") {
    const InstructionSet set = GENERATE(from_range(nanoserve::available_instruction_sets()));
    const DType dtype = GENERATE(DType::fp16, DType::bf16);
    std::vector<std::uint16_t> patterns(0x10000);
    for (std::size_t i = 0; i < patterns.size(); ++i) {
        patterns[i] = static_cast<std::uint16_t>(i);
    }
    // One row of all patterns, weight 1, sums from -0: the output is the converted row.
    std::vector<float> out(patterns.size(), -0.0f);
    const float weight = 1.0f;
    row_ops(set, dtype)
        .accumulate_rows({const_cast<float*>(&weight), 1}, 1, {patterns.data(), 2, 0, 1, 0x10000},
                         out.data());
    std::size_t num_wrong = 0;
    for (std::size_t i = 0; i < patterns.size(); ++i) {
        const float expected = dtype == DType::fp16
                                   ? nanoserve::to_float(Fp16{patterns[i]})
                                   : nanoserve::to_float(nanoserve::Bf16{patterns[i]});
        const bool both_nan = std::isnan(out[i]) && std::isnan(expected);
        num_wrong += !both_nan &&
                     std::bit_cast<std::uint32_t>(out[i]) != std::bit_cast<std::uint32_t>(expected);
    }
    CHECK(num_wrong == 0);
}

TEST_CASE("OPEN-02: vector loads of fp16 have its subnormals where the processor takes them for 0",
          "[attention]") {
    const InstructionSet set = GENERATE(from_range(nanoserve::available_instruction_sets()));
    CAPTURE(nanoserve::to_string(set));
    std::vector<std::uint16_t> patterns(0x400 + 3);  // all subnormal ones, and a remainder of lanes
    std::iota(patterns.begin(), patterns.end(), std::uint16_t{0});
    std::vector<float> out(patterns.size(), 0.0f);
    const float weight = 1.0f;
    const auto& ops = row_ops(set, DType::fp16);
    bool was_so = false;
    {
        const nanoserve::testing::SubnormalsAreZero mode;
        was_so = mode.holds();
        ops.accumulate_rows({const_cast<float*>(&weight), 1}, 1,
                            {patterns.data(), 2, 0, 1, std::ssize(patterns)}, out.data());
    }
    if (!was_so) {
        SKIP("this processor cannot be told to");
    }
    std::size_t num_wrong = 0;
    for (std::size_t i = 0; i < patterns.size(); ++i) {
        num_wrong += out[i] != std::ldexp(static_cast<float>(i), -24);
    }
    CHECK(num_wrong == 0);
}

TEST_CASE("each instruction set has steps of its own, and a context uses those of its set",
          "[attention]") {
    const auto sets = nanoserve::available_instruction_sets();
    for (std::size_t i = 0; i < sets.size(); ++i) {
        for (const DType dtype : {DType::fp32, DType::fp16, DType::bf16}) {
            nanoserve::ReadContext context({.instruction_set = sets[i]});
            CHECK(&context.state().row_ops(dtype) == &row_ops(sets[i], dtype));
            for (std::size_t j = 0; j < i; ++j) {
                CHECK(row_ops(sets[i], dtype).score_rows != row_ops(sets[j], dtype).score_rows);
            }
        }
    }
}

TEST_CASE("the environment chooses the default instruction set", "[attention]") {
    setenv("NANOSERVE_INSTRUCTION_SET", "baseline", 1);
    CHECK(nanoserve::default_instruction_set() == InstructionSet::baseline);
    setenv("NANOSERVE_INSTRUCTION_SET", "", 1);
    CHECK(nanoserve::default_instruction_set() == nanoserve::available_instruction_sets().back());
    unsetenv("NANOSERVE_INSTRUCTION_SET");
}

TEST_CASE("instruction sets are read as they are written, and an unknown one is refused",
          "[attention]") {
    for (const InstructionSet set : nanoserve::available_instruction_sets()) {
        CHECK(nanoserve::parse_instruction_set(nanoserve::to_string(set)) == set);
    }
    CHECK_THROWS_AS(nanoserve::parse_instruction_set("sse9"), std::invalid_argument);
    CHECK(nanoserve::available_instruction_sets().front() == InstructionSet::baseline);
}

TEST_CASE("vector loads of fp8 agree with the scalar conversion on all codes", "[attention]") {
    const InstructionSet set = GENERATE(from_range(nanoserve::available_instruction_sets()));
    CAPTURE(nanoserve::to_string(set));
    std::vector<nanoserve::Fp8E4m3> codes(256 + 13);  // and a part of a step at the end
    for (std::size_t i = 0; i < codes.size(); ++i) {
        codes[i].bits = static_cast<std::uint8_t>(i);
    }
    const auto num_codes = std::ssize(codes);
    std::vector<float> out(codes.size(), -0.0f);
    const float weight = 1.0f;
    row_ops(set, DType::fp8_e4m3)
        .accumulate_rows({const_cast<float*>(&weight), 1}, 1, {codes.data(), 1, 0, 1, num_codes},
                         out.data());
    for (std::size_t i = 0; i < codes.size(); ++i) {
        CAPTURE(i);
        const float expected = nanoserve::to_float(codes[i]);
        CHECK((std::isnan(expected) ? std::isnan(out[i])
                                    : std::bit_cast<std::uint32_t>(out[i]) ==
                                          std::bit_cast<std::uint32_t>(expected)));
    }
}
