// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <block_diagram.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <page_error.hpp>

#include <string>

using namespace nanoserve::pages;
using Catch::Matchers::ContainsSubstring;

namespace {

constexpr const char* kPrinted =
    "A  logical    0    1\n"
    "   physical   3    1\n"
    "   tokens     0 1  2 .\n"
    "\n"
    "B  logical    0\n"
    "   physical   2\n"
    "   tokens     0 1\n"
    "\n"
    "pool  block   0   1   2   3\n"
    "      holder  .   A1  B0  A0\n";

std::string with(const std::string& from, const std::string& to) {
    std::string text = kPrinted;
    return text.replace(text.find(from), from.size(), to);
}

}  // namespace

TEST_CASE("a printed pool is read back: tables, tokens and who holds what", "[docs][pure]") {
    const PrintedPool pool = parse_printed_pool(kPrinted);
    CHECK(pool.holders == std::vector<std::string>{".", "A1", "B0", "A0"});
    CHECK(pool.sequences.at("A").physical == std::vector<int>{3, 1});
    CHECK(pool.sequences.at("A").tokens == std::vector<std::string>{"0 1", "2 ."});
    CHECK(pool.sequences.at("B").physical == std::vector<int>{2});
}

TEST_CASE("a printed pool that contradicts itself is refused", "[docs][pure]") {
    const auto text = GENERATE_COPY(
        std::string("nothing of that kind"), with("physical   3", "physical   0"),
        with("physical   3", "physical   9"), with("physical   3", "physical   x"),
        with("physical   3", "physical   4294967299"), with("tokens     0 1  2 .", ""),
        with("tokens     0 1  2 .", "tokens     0 1  2"), with("holder", "owner"));
    CAPTURE(text);
    CHECK_THROWS_AS(parse_printed_pool(text), PageError);
}

TEST_CASE("gather's diagram leads each entry of the table through its block to the history",
          "[docs][pure]") {
    const std::string dot = gather_diagram(parse_printed_pool(kPrinted), "A");
    CHECK_THAT(dot, ContainsSubstring("t0 [label=\"0 → 3\"]; h0 [label=\"A0\\n0 1\""));
    CHECK_THAT(dot, ContainsSubstring("t0 -> b3 -> h0;"));
    CHECK_THAT(dot, ContainsSubstring("t1 -> b1 -> h1;"));
    CHECK_THAT(dot, ContainsSubstring("b2 [label=\"2\\nB0\", class=\"b\"]"));
    CHECK_THAT(dot, !ContainsSubstring("-> b2 -> h"));
}

TEST_CASE("fused's diagram reads K and V from each block of the sequence and from no other",
          "[docs][pure]") {
    const std::string dot = fused_diagram(parse_printed_pool(kPrinted), "A");
    for (const char* part : {"b3 -> scores;", "b1 -> scores;", "b3 -> out [class=\"b\"];",
                             "b1 -> out [class=\"b\"];"}) {
        CHECK_THAT(dot, ContainsSubstring(part));
    }
    CHECK_THAT(dot, !ContainsSubstring("b2 -> scores") && !ContainsSubstring("b2 -> out"));
    CHECK_THROWS_AS(fused_diagram(parse_printed_pool(kPrinted), "C"), PageError);
}
