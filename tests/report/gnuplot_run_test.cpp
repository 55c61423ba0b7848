// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <nanoserve/report/atomic_file.hpp>
#include <nanoserve/report/plot/gnuplot_run.hpp>
#include <nanoserve/report/plot/gnuplot_text.hpp>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <report/program_path.hpp>
#include <report/temporary_folder.hpp>

#include <string>
#include <vector>

using namespace nanoserve::report;
using namespace nanoserve::report::testing;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::MessageMatches;

namespace {

using Names = std::vector<std::string>;

void draw(const TemporaryFolder& folder) {
    draw_picture("plot x\n", "pngcairo", folder.path() / "a.png");
}

// The last word of "set output '...'" in the script is the file to draw.
constexpr const char* kDrawsSomething =
    "while read -r line; do case $line in \"set output\"*) f=${line#*\\'}; echo drawn > "
    "\"${f%\\'}\";; "
    "esac; done < \"$2\"";

}  // namespace

TEST_CASE("OPEN-23: a missing gnuplot is named, with the package and the script",
          "[report][pure]") {
    const TemporaryFolder folder;
    const ProgramPath nothing(folder.path());
    CHECK_THROWS_MATCHES(
        draw(folder), PlotError,
        MessageMatches(ContainsSubstring("gnuplot was not found") &&
                       ContainsSubstring("apt-get install gnuplot-nox") &&
                       ContainsSubstring("a.png.gp.tmp") && !ContainsSubstring("\n")));
    CHECK(folder.names() == Names{"a.png.gp.tmp"});
}

TEST_CASE("OPEN-23: a gnuplot that fails is quoted, and the old picture stays", "[report][pure]") {
    const TemporaryFolder folder;
    install_stub(folder.path() / "bin", "echo 'plot x' >&2; echo 'line 3: out of ink' >&2; exit 1");
    const ProgramPath stub(folder.path() / "bin");
    write_file_atomically(folder.path() / "a.png", "old");
    CHECK_THROWS_MATCHES(
        draw(folder), PlotError,
        MessageMatches(ContainsSubstring("exit code 1 (line 3: out of ink)") &&
                       ContainsSubstring("gnuplot-nox") && !ContainsSubstring("\n")));
    CHECK(read_file(folder.path() / "a.png") == "old");
    CHECK(folder.names() == Names{"a.png", "a.png.gp.tmp", "bin"});
}

TEST_CASE("OPEN-23: a gnuplot that says more than a pipe holds does not hang", "[report][pure]") {
    const TemporaryFolder folder;
    install_stub(folder.path() / "bin",
                 "i=0; while [ $i -lt 20000 ]; do echo 'complaint' >&2; i=$((i+1)); done; exit 3");
    const ProgramPath stub(folder.path() / "bin");
    CHECK_THROWS_MATCHES(draw(folder), PlotError,
                         MessageMatches(ContainsSubstring("exit code 3 (complaint)")));
}

TEST_CASE("a gnuplot that draws nothing and says all is well is caught", "[report][pure]") {
    const TemporaryFolder folder;
    install_stub(folder.path() / "bin", "exit 0");
    const ProgramPath stub(folder.path() / "bin");
    CHECK_THROWS_MATCHES(draw(folder), PlotError,
                         MessageMatches(ContainsSubstring("drew nothing")));
    CHECK(folder.names() == Names{"a.png.gp.tmp", "bin"});
}

TEST_CASE("OPEN-23: a gnuplot that is killed is caught", "[report][pure]") {
    const TemporaryFolder folder;
    install_stub(folder.path() / "bin", "kill -9 $$");
    const ProgramPath stub(folder.path() / "bin");
    CHECK_THROWS_MATCHES(draw(folder), PlotError,
                         MessageMatches(ContainsSubstring("exit code 137 (it gave no reason)")));
}

TEST_CASE("a whole picture takes its place and the script goes", "[report][pure]") {
    const TemporaryFolder folder;
    install_stub(folder.path() / "bin", kDrawsSomething);
    const ProgramPath stub(folder.path() / "bin");
    draw(folder);
    CHECK(read_file(folder.path() / "a.png") == "drawn\n");
    CHECK(folder.names() == Names{"a.png", "bin"});
}

TEST_CASE("a missing folder for the picture is named", "[report][pure]") {
    const TemporaryFolder folder;
    CHECK_THROWS_MATCHES(
        draw_picture("plot x\n", "svg", folder.path() / "plots" / "a.svg"), PlotError,
        MessageMatches(ContainsSubstring("plots/a.svg") && ContainsSubstring("folder")));
}

TEST_CASE("text reaches gnuplot as it stands", "[report][pure]") {
    CHECK(gnuplot_literal("it's \"a\\b\"") == "'it''s \"a\\b\"'");
    CHECK(gnuplot_literal("two\nlines") == "'two lines'");
    CHECK(gnuplot_label("read_floor {x}^2 @ & ~") == "'read\\_floor \\{x\\}\\^2 \\@ \\& \\~'");
    CHECK(gnuplot_bold("a_b") == "'{/:Bold a\\_b}'");
}
