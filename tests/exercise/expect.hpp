// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// What the checks of the exercises ask for, and how they say what is wrong: the shape, the first
// wrong element, what was expected there.
#pragma once

#include "support/paged_case.hpp"

#include <nanoserve/attention/paged_attention_params.hpp>

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace nanoserve::testing {

/// One axis of an array: its name and its size.
struct Axis {
    std::string name;
    std::int64_t size = 0;
};

/// An array that a learner's code has written, and the numbers that should be in it.
struct Expectation {
    std::string name;        ///< of the array
    std::vector<Axis> axes;  ///< outermost first
    std::vector<double> expected;
    double bound = 0.0;  ///< of the absolute error
};

/// What is wrong with `got`, in lines for people; "" when each element is expected or within
/// `bound` of it. NaN is close to nothing.
[[nodiscard]] std::string first_difference(const Expectation& expectation,
                                           std::span<const float> got);

/// Fails the test, in words, unless `got` is `expected`; an absent number is "none".
void expect_equal(const std::string& what, std::optional<double> got,
                  std::optional<double> expected);
void expect_equal(const std::string& what, const std::string& got, const std::string& expected);

/// A read of the course.
using Read = std::function<void(const PagedAttentionParams&)>;

/// Fails the test unless `read` writes the oracle's out and lse for `params`, which are those of
/// `test`: each element within `bound`, an lse within its own rounding besides.
void expect_oracle(PagedCase& test, const PagedAttentionParams& params, const Read& read,
                   double bound);

/// Fails the test unless `read` and `other` write the same bits.
void expect_same_bits(PagedCase& test, const Read& read, const Read& other);

}  // namespace nanoserve::testing
