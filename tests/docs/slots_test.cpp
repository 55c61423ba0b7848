// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <page_error.hpp>
#include <slots.hpp>

#include <string>

using namespace nanoserve::pages;

TEST_CASE("a page is text and slots, and nothing is lost", "[docs][pure]") {
    const std::string page = "one {{a: b}} two\n<!-- {{c: d}} -->old<!-- /-->\nlast";
    const std::vector<Piece> pieces = split_page(page);
    REQUIRE(pieces.size() == 5);
    CHECK(pieces[1].query == "a: b");
    CHECK(pieces[1].is_slot);
    CHECK_FALSE(pieces[1].is_kept_slot);
    CHECK(pieces[3].query == "c: d");
    CHECK(pieces[3].kept == "old");
    CHECK(pieces[3].is_kept_slot);
    CHECK(pieces[3].line == 2);
    std::string all;
    for (const Piece& piece : pieces) {
        all += piece.text;
    }
    CHECK(all == page);
}

TEST_CASE("a formula in a slot may end with a brace", "[docs][pure]") {
    const std::vector<Piece> pieces = split_page("{{arithmetic: \\frac{1}{2}}}.");
    REQUIRE(pieces.size() == 2);
    CHECK(pieces[0].query == "arithmetic: \\frac{1}{2}");
}

TEST_CASE("a slot may begin and end a page, and a page may have none", "[docs][pure]") {
    CHECK(split_page("{{a: b}}").size() == 1);
    CHECK(split_page("a { b } c").size() == 1);
    CHECK(split_page("").empty());
}

TEST_CASE("a slot that is never closed is refused", "[docs][pure]") {
    const auto* page = GENERATE("text {{a: b", "<!-- {{a: b}} -->text", "<!-- {{a}}-->x<!-- /-->");
    CAPTURE(page);
    CHECK_THROWS_AS(split_page(page), PageError);
}
