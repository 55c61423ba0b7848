// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <page_error.hpp>
#include <page_turns.hpp>

using namespace nanoserve::pages;

TEST_CASE("a page begins with its title and label", "[docs][pure]") {
    CHECK(page_title("# Day 19: attend in place {#day19}\n\ntext") ==
          PageTitle{"Day 19: attend in place", "day19"});
    const auto* page = GENERATE("", "text", "# no label\n", "# {#label}\n", "\n# late {#late}\n");
    CAPTURE(page);
    CHECK_THROWS_AS(page_title(page), PageError);
}

TEST_CASE("the foot of a page leads to its neighbours, where it has them", "[docs][pure]") {
    const PageTitle before{"A", "a"};
    const PageTitle next{"B", "b"};
    CHECK(page_turns(before, next) ==
          "\n<div class=\"turns\">\n"
          "<div class=\"previous\"><span class=\"what\">previous</span> @ref a \"A\"</div>\n"
          "<div class=\"next\"><span class=\"what\">next</span> @ref b \"B\"</div>\n</div>\n");
    CHECK(page_turns(before, std::nullopt).find("next") == std::string::npos);
    CHECK(page_turns(std::nullopt, std::nullopt).empty());
}
