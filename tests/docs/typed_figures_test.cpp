// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <typed_figures.hpp>

#include <string>

using namespace nanoserve::pages;

TEST_CASE("a typed performance figure is found", "[docs][pure]") {
    const std::string figure = GENERATE(
        "4.1 µs", "4.1µs", "12 us", "130 ms", "0.13\u00a0ms", "2 s", "800 ns", "30 seconds",
        "97.7 GB/s", "4.6 TB/s", "3 GiB/s", "41 tokens/s", "90 bytes per second", "1.7 ×", "3x",
        "1.7 times", "59 %", "59%", "5 percent", "1980 MHz", "60 TFLOPS", "4-fold",
        "three times faster", "twice as fast", "4.8\\,\\mathrm{TB/s");
    CAPTURE(figure);
    const std::vector<TypedFigure> found = find_typed_figures("one\nthe read: " + figure + ".\n");
    REQUIRE(found.size() == 1);
    CHECK(found[0] == TypedFigure{2, figure});
}

TEST_CASE("sizes, counts, products and names are no performance", "[docs][pure]") {
    const auto* text =
        GENERATE("16 MiB", "4096 bytes", "4096 tokens", "2 × 8 × 64", "Day 19", "`best_us`",
                 "128-bit", "sm_90a", "a100s", "3 steps", "Llama-3.2-1B", "block_size 16",
                 "4 KV heads", "`x16`", "version 3.25", "v2s");
    CAPTURE(text);
    CHECK(find_typed_figures(text).empty());
}

TEST_CASE("a figure out of a slot is not typed, nor is one that says what it is", "[docs][pure]") {
    CHECK(find_typed_figures("{{day-20: best_us, read=fused}}").empty());
    CHECK(find_typed_figures("the {{defined: 95 %}} interval").empty());
    CHECK(find_typed_figures("<!-- {{a: best_us}} -->4.1 µs<!-- /-->").empty());
    CHECK(find_typed_figures("<!-- {{a: best_us}} -->4.1 µs<!-- /--> and 5 µs").size() == 1);
}

TEST_CASE("every figure of a line is found, in order", "[docs][pure]") {
    CHECK(find_typed_figures("from 1 ms to 2 ms\nor 3 %") ==
          std::vector<TypedFigure>{{1, "1 ms"}, {1, "2 ms"}, {2, "3 %"}});
}

TEST_CASE("only the words that say why a number is typed let it pass", "[docs][pure]") {
    CHECK(typed_text("defined: 95 %") == "95 %");
    CHECK(typed_text("predicted: 2.5 µs") == "2.5 µs");
    CHECK(typed_text("arithmetic: 1 %") == "1 %");
    CHECK(typed_text("cited: 5.4 ×") == "5.4 ×");
    CHECK(typed_text("measured: 5.4 ×").empty());
    CHECK(is_typed_kind("defined"));
    CHECK_FALSE(is_typed_kind("measured"));
}
