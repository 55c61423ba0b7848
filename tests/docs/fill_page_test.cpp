// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <docs/sample_data.hpp>
#include <fill_page.hpp>

using namespace nanoserve::pages;
using Catch::Matchers::ContainsSubstring;
using nanoserve::pages::testing::SampleData;

namespace {

// Two days, the second without an exercise; the outputs are those of the course.
const std::vector<Day> kDays = {
    {"day16_gather",
     "16",
     "gather",
     "5",
     "2, paged memory",
     {},
     "rebuild the history",
     {{"walk the table"}, {"the blocks come in order", "the last one is cut"}}},
    {"day18_words", "18", "words", "5", "2, paged memory", {}, "talk", {}}};

FilledPage fill(std::string_view page, Medium medium = Medium::site) {
    SampleData sample;
    DataFolder data = sample.data();
    return fill_page(page, medium, {data, kDays, NANOSERVE_OUTPUTS});
}

}  // namespace

TEST_CASE("a measured figure is written with its unit, not torn from it", "[docs][pure]") {
    const FilledPage page =
        fill("it took {{sweep: best_us, read=fused, seq_len=64}}.\n{{source sweep}}");
    CHECK(page.problems.empty());
    CHECK_THAT(page.text, ContainsSubstring("it took 2.50\u00a0ms.\nAMD EPYC, 2 CPUs"));
}

TEST_CASE("a page that shows figures also says where they come from", "[docs][pure]") {
    const FilledPage page = fill("one\n{{sweep: best_us, read=fused, seq_len=64}}");
    REQUIRE(page.problems.size() == 1);
    CHECK(page.problems[0].line == 2);
    CHECK_THAT(page.problems[0].text, ContainsSubstring("{{source sweep}}"));
    CHECK(fill("{{sweep: best_us, read=fused, seq_len=64}}\n{{table sweep: read=fused}}")
              .problems.empty());
}

TEST_CASE("each slot that can't be filled is named by its line", "[docs][pure]") {
    const FilledPage page = fill(
        "{{sweep: best_us, read=fusd, seq_len=64}}\n\n{{nothing}}\n{{day 17}} {{exercise 17}}");
    REQUIRE(page.problems.size() == 4);
    CHECK(page.problems[0].line == 1);
    CHECK_THAT(page.problems[0].text, ContainsSubstring("read=fusd"));
    CHECK(page.problems[1].line == 3);
    CHECK_THAT(page.problems[2].text, ContainsSubstring("no day 17"));
    CHECK_THAT(page.problems[3].text, ContainsSubstring("no day 17"));
}

TEST_CASE("a number that says what it is passes as it is", "[docs][pure]") {
    CHECK(fill("the {{defined: 95 %}} interval").text == "the 95\u00a0% interval");
}

TEST_CASE("a day's head has its place, its idea, three commands and the first red test",
          "[docs][pure]") {
    const std::string text = fill("{{day 16}}").text;
    for (const char* part :
         {"Day 16 · week 5 · phase 2, paged memory", "rebuild the history", "./course run day16",
          "days/day16_gather/main.cpp", "./course start day16", "./course check day16",
          "the blocks come in order"}) {
        CHECK_THAT(text, ContainsSubstring(part));
    }
}

TEST_CASE("a day's exercise is its commands and the behaviours it asks for", "[docs][pure]") {
    CHECK_THAT(fill("{{exercise 16}}").text,
               ContainsSubstring("./course hint day16") &&
                   ContainsSubstring("\n- walk the table\n") &&
                   ContainsSubstring("\n1. the blocks come in order\n2. the last one is cut\n"));
}

TEST_CASE("a day without an exercise speaks of none", "[docs][pure]") {
    CHECK_THAT(fill("{{day 18}}").text,
               ContainsSubstring("./course run day18") && !ContainsSubstring("./course start"));
    CHECK(fill("{{exercise 18}}").text.empty());
}

TEST_CASE("a kept slot keeps its comments and gets the newest text", "[docs][pure]") {
    const FilledPage page = fill(
        "<!-- {{sweep: best_us, read=fused, seq_len=64}} -->old<!-- /--> <!-- {{defined}} -->"
        "95 %<!-- /-->\n<!-- {{table sweep: read=fused}} -->\nold\n<!-- /-->\n",
        Medium::readme);
    CHECK(page.problems.empty());
    CHECK_THAT(page.text,
               ContainsSubstring("<!-- {{sweep: best_us, read=fused, seq_len=64}} -->2.50\u00a0ms"
                                 "<!-- /--> <!-- {{defined}} -->95 %<!-- /-->\n"
                                 "<!-- {{table sweep: read=fused}} -->\n| history"));
    CHECK_THAT(page.text, ContainsSubstring("csv*\n<!-- /-->\n"));
    CHECK(fill(page.text, Medium::readme).text == page.text);
}

TEST_CASE("a page that is read as it is has kept slots only", "[docs][pure]") {
    CHECK(fill("{{defined: 95 %}}", Medium::readme).problems.size() == 1);
}

TEST_CASE("the days are a table with links on the site and without in the README", "[docs][pure]") {
    CHECK_THAT(fill("{{days}}").text,
               ContainsSubstring("| @ref day16 \"16, gather\" | rebuild the history | "
                                 "`./course run day16` |"));
    CHECK_THAT(fill("<!-- {{days}} --><!-- /-->", Medium::readme).text,
               ContainsSubstring("\n| 16, gather | rebuild"));
    const FilledPage map = fill("{{map}}");
    CHECK_THAT(map.text, ContainsSubstring("@dotfile days.dot"));
    CHECK_THAT(map.diagrams.at("days.dot"), ContainsSubstring("Day 16: gather"));
}

TEST_CASE("a diagram is drawn from what a day's program prints", "[docs][pure]") {
    const FilledPage page = fill("{{diagram gather day-16-blocks A: the way of A}}");
    CHECK(page.problems.empty());
    CHECK_THAT(page.text,
               ContainsSubstring("@dotfile day-16-blocks-gather-A.dot \"the way of A\""));
    CHECK_THAT(page.diagrams.at("day-16-blocks-gather-A.dot"), ContainsSubstring("t0 -> b3 -> h0"));
    CHECK(fill("{{diagram paint day-16-blocks A: x}}").problems.size() == 1);
    CHECK(fill("{{diagram fused day-99-blocks A: x}}").problems.size() == 1);
}
