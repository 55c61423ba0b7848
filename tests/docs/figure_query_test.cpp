// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <figure_query.hpp>
#include <page_error.hpp>

using namespace nanoserve::pages;

TEST_CASE("a figure names a file, a column and the keys of its row", "[docs][pure]") {
    const FigureQuery figure = parse_figure("day-20: best_us, read=fused,\n seq_len = 4096");
    REQUIRE(figure.cells.size() == 1);
    CHECK(figure.cells[0] ==
          CellQuery{"day-20", "best_us", {{"read", "fused"}, {"seq_len", "4096"}}});
}

TEST_CASE("behind the slash of a ratio stands what is different there", "[docs][pure]") {
    const FigureQuery figure = parse_figure("a: best_us, read=gather, seq_len=16 / read=fused");
    REQUIRE(figure.cells.size() == 2);
    CHECK(figure.cells[1] == CellQuery{"a", "best_us", {{"read", "fused"}, {"seq_len", "16"}}});
    CHECK(parse_figure("a: best_us, read=x / floor_us").cells[1] ==
          CellQuery{"a", "floor_us", {{"read", "x"}}});
    CHECK(parse_figure("a: best_us / b:").cells[1] == CellQuery{"b", "best_us", {}});
}

TEST_CASE("a ratio may be asked for in per cent", "[docs][pure]") {
    CHECK(parse_figure("a: best_us / floor_us as %").form == FigureQuery::Form::percent);
    CHECK(parse_figure("a: best_us / floor_us").form == FigureQuery::Form::plain);
}

TEST_CASE("missing parts of a figure come from the base", "[docs][pure]") {
    const CellQuery base = {"a", "best_us", {{"head_dim", "64"}}};
    CHECK(parse_figure("read=fused", base).cells[0] ==
          CellQuery{"a", "best_us", {{"head_dim", "64"}, {"read", "fused"}}});
}

TEST_CASE("a key may hold a slash, as an option of a GPU run does", "[docs][pure]") {
    CHECK(parse_figure("a: fitted.layers 32/8/64 num_seqs 1").cells[0].column ==
          "fitted.layers 32/8/64 num_seqs 1");
}

TEST_CASE("what no reader could mean is refused", "[docs][pure]") {
    const auto* text = GENERATE("a: best_us, mean_us", "a: best_us, read=", "a: best_us, =fused",
                                "a: best_us / floor_us / mean_us", "a: best_us as dB");
    CAPTURE(text);
    CHECK_THROWS_AS(parse_figure(text), PageError);
}
