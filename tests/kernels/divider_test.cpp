// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch_test_macros.hpp>
#include <kernels/general/divider.hpp>

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

using nanoserve::Divider;

TEST_CASE("Divider divides every number below 2^31 as the machine does", "[kernels][pure]") {
    std::mt19937 random(1);
    std::vector<std::uint32_t> divisors = {(1u << 30) - 1, 1u << 30, (1u << 31) - 1, 1u << 31};
    for (std::uint32_t divisor = 1; divisor <= 2048; ++divisor) {
        divisors.push_back(divisor);
    }
    bool all_right = true;
    for (const std::uint32_t divisor : divisors) {
        const Divider by(divisor);
        constexpr std::uint32_t kLast = (1u << 31) - 1;
        const std::uint32_t last_multiple = kLast - kLast % divisor;
        // A quotient is wrong first where it changes.
        std::vector<std::uint32_t> numbers = {0, divisor - 1, divisor, last_multiple, kLast};
        numbers.push_back(last_multiple > 0 ? last_multiple - 1 : 0);
        for (int i = 0; i < 100; ++i) {
            const auto number = static_cast<std::uint32_t>(random() >> 1);
            numbers.push_back(number);
            numbers.push_back(number - number % divisor);
        }
        for (const std::uint32_t number : numbers) {
            if (number <= kLast) {
                all_right = all_right && by.quotient(number) == number / divisor;
            }
        }
    }
    CHECK(all_right);
}
