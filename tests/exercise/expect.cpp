// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include "exercise/expect.hpp"

#include <nanoserve/attention/attention_oracle.hpp>
#include <nanoserve/model/require.hpp>

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <cmath>
#include <iomanip>

namespace nanoserve::testing {
namespace {

// "[num_seqs 1, num_q_heads 8, head_dim 16]"
std::string shape_text(const std::vector<Axis>& axes) {
    std::string text;
    for (const Axis& axis : axes) {
        text += (text.empty() ? "[" : ", ") + axis.name + ' ' + std::to_string(axis.size);
    }
    return text + ']';
}

// The indices of flat element `i`: "[0, 3, 15]".
std::string place_text(const std::vector<Axis>& axes, std::int64_t i) {
    std::string text;
    for (auto axis = axes.rbegin(); axis != axes.rend(); ++axis) {
        text = std::to_string(i % axis->size) + (text.empty() ? "" : ", ") + text;
        i /= axis->size;
    }
    return '[' + text + ']';
}

bool is_close(double got, double expected, double bound) {
    return got == expected || std::abs(got - expected) <= bound;  // false when either is NaN
}

// 17 digits tell any two numbers apart.
std::string number_text(std::optional<double> number) {
    return number ? join_text(std::setprecision(17), *number) : "none";
}

void fail_if_any(const PagedCase& test, const std::string& difference) {
    if (!difference.empty()) {
        FAIL(difference << "\nthe case: " << test.describe());
    }
}

std::vector<Axis> row_axes(const PagedCase& test) {
    return {{"num_seqs", std::ssize(test.spec().seq_lens)},
            {"num_q_heads", test.spec().shape.num_q_heads}};
}

std::vector<Axis> out_axes(const PagedCase& test) {
    std::vector<Axis> axes = row_axes(test);
    axes.push_back({"head_dim", test.spec().shape.head_dim});
    return axes;
}

}  // namespace

std::string first_difference(const Expectation& e, std::span<const float> got) {
    std::int64_t num_wrong = 0;
    std::int64_t first = 0;
    for (std::int64_t i = std::ssize(e.expected) - 1; i >= 0; --i) {
        const auto place = static_cast<std::size_t>(i);
        if (!is_close(double{got[place]}, e.expected[place], e.bound)) {
            ++num_wrong;
            first = i;
        }
    }
    if (num_wrong == 0) {
        return "";
    }
    const auto place = static_cast<std::size_t>(first);
    return join_text(std::setprecision(9), e.name, ' ', shape_text(e.axes), ": ", num_wrong, " of ",
                     e.expected.size(),
                     num_wrong == 1 ? " elements is wrong" : " elements are wrong",
                     "\nthe first is ", e.name, place_text(e.axes, first), ": expected ",
                     e.expected[place], ", got ", got[place]);
}

void expect_equal(const std::string& what, const std::string& got, const std::string& expected) {
    if (got != expected) {
        FAIL(what << "\nexpected " << expected << "\ngot      " << got);
    }
}

void expect_equal(const std::string& what, std::optional<double> got,
                  std::optional<double> expected) {
    expect_equal(what, number_text(got), number_text(expected));
}

void expect_oracle(PagedCase& test, const PagedAttentionParams& params, const Read& read,
                   double bound) {
    const OracleResult oracle = attention_oracle(params);
    read(params);
    fail_if_any(test,
                first_difference({"out", out_axes(test), oracle.out, bound}, test.out_floats()));
    double largest_lse = 0.0;
    for (const double lse : oracle.lse) {
        largest_lse = std::isinf(lse) ? largest_lse : std::max(largest_lse, std::abs(lse));
    }
    const double lse_bound = bound + 0x1p-23 * largest_lse;  // and the rounding to a float
    fail_if_any(test, first_difference({"lse", row_axes(test), oracle.lse, lse_bound}, test.lse()));
}

void expect_same_bits(PagedCase& test, const Read& read, const Read& other) {
    other(test.params());
    const std::vector<std::byte> bytes = test.out();
    const std::vector<float> out = test.out_floats();
    const std::vector<float> lse = test.lse();
    read(test.params());
    fail_if_any(test, first_difference({"out", out_axes(test), {out.begin(), out.end()}, 0.0},
                                       test.out_floats()));
    fail_if_any(
        test, first_difference({"lse", row_axes(test), {lse.begin(), lse.end()}, 0.0}, test.lse()));
    fail_if_any(test, test.out() == bytes ? "" : "out: a zero has the other sign");
}

}  // namespace nanoserve::testing
