// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <nanoserve/report/atomic_file.hpp>
#include <nanoserve/report/plot/paged_read_script.hpp>
#include <nanoserve/report/plot/plot_paged_read.hpp>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <report/comma_locale.hpp>
#include <report/program_path.hpp>
#include <report/sample_rows.hpp>
#include <report/temporary_folder.hpp>

#include <cstdlib>
#include <string>
#include <vector>

using namespace nanoserve::report;
using namespace nanoserve::report::testing;
using Catch::Matchers::ContainsSubstring;

namespace {

std::vector<ReadRow> sample_rows() {
    std::vector<ReadRow> rows;
    append_read(rows, "gather", {4.5, 16, 66});
    append_read(rows, "fused", {3, 12, 50});
    append_read(rows, "read_floor", {0.3, 1.2, 7});
    rows[0].lo_us = 4.6;
    rows[0].hi_us = 5;
    return rows;
}

}  // namespace

TEST_CASE("the script is the same in every locale and holds the data", "[report][pure]") {
    const std::string expected =
        paged_read_script(paged_read_picture(sample_rows(), "it's a caption"));
    CHECK_THAT(expected,
               ContainsSubstring("$READ0 << EOD") && ContainsSubstring("16 4.5 4.6 5\n") &&
                   ContainsSubstring("$FLOOR << EOD") && ContainsSubstring("it''s a caption"));
    const CommaLocale commas;
    CHECK(paged_read_script(paged_read_picture(sample_rows(), "it's a caption")) == expected);
}

TEST_CASE("a script without floor and interval draws neither", "[report][pure]") {
    const std::vector rows = {sample_row("gather", 16, 4.1)};
    const std::string script = paged_read_script(paged_read_picture(rows, ""));
    CHECK_THAT(script, !ContainsSubstring("$FLOOR") && !ContainsSubstring("slope 1"));
}

TEST_CASE("gnuplot draws PNG and SVG into a folder with a space", "[report][pure]") {
    if (std::system("gnuplot --version > /dev/null 2>&1") != 0) {
        SKIP("needs gnuplot");
    }
    const TemporaryFolder folder;
    std::vector<ReadRow> rows = sample_rows();
    if (GENERATE(true, false)) {
        rows = {
            sample_row("a'b_{c}", 16, 4.1)};  // one point, and a name that gnuplot could misread
    }
    plot_paged_read(rows, folder.path() / "a plot", "commit unknown");
    CHECK(folder.names() == std::vector<std::string>{"a plot.png", "a plot.svg"});
    CHECK(read_file(folder.path() / "a plot.png").starts_with("\x89PNG"));
    CHECK_THAT(read_file(folder.path() / "a plot.svg"), ContainsSubstring("</svg>"));
}

TEST_CASE("without gnuplot no picture appears", "[report][pure]") {
    const TemporaryFolder folder;
    const ProgramPath nothing(folder.path());
    CHECK_THROWS_AS(plot_paged_read(sample_rows(), folder.path() / "a", ""), PlotError);
    CHECK(folder.names() == std::vector<std::string>{"a.png.gp.tmp"});
}
