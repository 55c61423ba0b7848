// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <nanoserve/report/table.hpp>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <report/comma_locale.hpp>
#include <report/sample_rows.hpp>

#include <vector>

using namespace nanoserve::report;
using namespace nanoserve::report::testing;
using Catch::Matchers::ContainsSubstring;

namespace {

std::vector<ReadRow> sample_rows() {
    std::vector<ReadRow> rows = {sample_row("gather", 16, 4.1),
                                 sample_row("fused", 4096, 1500, "faster")};
    rows[1].floor_us = 300;
    rows[1].speedup = 1.27;
    return rows;
}

}  // namespace

TEST_CASE("the table is aligned and leaves empty columns out", "[report][pure]") {
    const CommaLocale commas;
    CHECK(format_table(sample_rows()) ==
          "history  read       best  × floor  speedup  verdict\n"
          "     16  gather  4.10 µs        –        –  –\n"
          "   4096  fused   1.50 ms     5.00     1.27  faster\n");
}

TEST_CASE("the Markdown table has the same cells", "[report][pure]") {
    CHECK(markdown_table(sample_rows()) ==
          "| history | read   |    best | × floor | speedup | verdict |\n"
          "| ---: | :--- | ---: | ---: | ---: | :--- |\n"
          "|      16 | gather | 4.10 µs |       – |       – | –       |\n"
          "|    4096 | fused  | 1.50 ms |    5.00 |    1.27 | faster  |\n");
}

TEST_CASE("a full row fills every column", "[report][pure]") {
    const std::string table = format_table(std::vector{full_row()});
    CHECK_THAT(table, ContainsSubstring("mean") && ContainsSubstring("median") &&
                          ContainsSubstring("interval") && ContainsSubstring("GB/s") &&
                          ContainsSubstring("11.2"));
}

TEST_CASE("no rows give a header alone", "[report][pure]") {
    const std::string table = format_table({});
    CHECK(table.find('\n') == table.size() - 1);
    CHECK_THAT(table, ContainsSubstring("history"));
}
