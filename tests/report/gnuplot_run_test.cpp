// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <nanoserve/report/atomic_file.hpp>
#include <nanoserve/report/plot/gnuplot_run.hpp>
#include <nanoserve/report/plot/gnuplot_text.hpp>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <report/program_path.hpp>
#include <report/signal_watch.hpp>
#include <report/temporary_folder.hpp>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

using namespace nanoserve::report;
using namespace nanoserve::report::testing;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::MessageMatches;

namespace {

using Names = std::vector<std::string>;

void draw(const std::filesystem::path& folder, std::chrono::milliseconds limit = kGnuplotLimit) {
    const Picture pair[] = {{folder / "a.png", "pngcairo", "plot x\n"},
                            {folder / "a.svg", "svg", "plot x\n"}};
    draw_pictures(pair, limit);
}

void draw(const TemporaryFolder& folder, std::chrono::milliseconds limit = kGnuplotLimit) {
    draw(folder.path(), limit);
}

void write_old_pictures(const TemporaryFolder& folder) {
    write_file_atomically(folder.path() / "a.png", "old");
    write_file_atomically(folder.path() / "a.svg", "old");
}

void check_old_pictures(const TemporaryFolder& folder) {
    CHECK(read_file(folder.path() / "a.png") == "old");
    CHECK(read_file(folder.path() / "a.svg") == "old");
}

// Stubs that draw on their standard output, as gnuplot does.
constexpr const char* kDrawsBoth =
    "case $(cat \"$2\") in *pngcairo*) printf 'drawn IEND\\256B`\\202' ;; *) echo '<svg></svg>' ;; "
    "esac";
constexpr const char* kDrawsHalfAPng =
    "case $(cat \"$2\") in *pngcairo*) echo drawn ;; *) echo '<svg></svg>' ;; esac";
constexpr const char* kDrawsHalfAnSvg =
    "case $(cat \"$2\") in *pngcairo*) printf 'drawn IEND\\256B`\\202' ;; *) echo '<svg>' ;; esac";

bool have_gnuplot() {
    return std::system("gnuplot --version > /dev/null 2>&1") == 0;
}

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
    const ProgramPath stub(folder.path() / "bin", ProgramPath::Rest::kept);
    write_old_pictures(folder);
    CHECK_THROWS_MATCHES(
        draw(folder), PlotError,
        MessageMatches(ContainsSubstring("exit code 1 (line 3: out of ink)") &&
                       ContainsSubstring("gnuplot-nox") && !ContainsSubstring("\n")));
    check_old_pictures(folder);
    CHECK(folder.names() == Names{"a.png", "a.png.gp.tmp", "a.svg", "bin"});
}

TEST_CASE("half a picture of a gnuplot that says all is well replaces none of the pair",
          "[report][pure]") {
    const TemporaryFolder folder;
    const bool half_a_png = GENERATE(true, false);
    install_stub(folder.path() / "bin", half_a_png ? kDrawsHalfAPng : kDrawsHalfAnSvg);
    const ProgramPath stub(folder.path() / "bin", ProgramPath::Rest::kept);
    write_old_pictures(folder);
    CHECK_THROWS_MATCHES(draw(folder), PlotError,
                         MessageMatches(ContainsSubstring(half_a_png ? "a.png" : "a.svg") &&
                                        ContainsSubstring("drew half a picture")));
    check_old_pictures(folder);
    CHECK(folder.names() == Names{"a.png", half_a_png ? "a.png.gp.tmp" : "a.svg",
                                  half_a_png ? "a.svg" : "a.svg.gp.tmp", "bin"});
}

TEST_CASE("a gnuplot that hangs is ended when its time is over, with what it started",
          "[report][pure]") {
    using namespace std::chrono_literals;
    const TemporaryFolder folder;
    // The pipe of its complaints stays open in a child, which leaves a mark unless it is ended.
    install_stub(folder.path() / "bin",
                 "(sleep 2; touch '" + (folder.path() / "outlived").string() + "') & wait");
    const ProgramPath stub(folder.path() / "bin", ProgramPath::Rest::kept);
    write_old_pictures(folder);
    const auto begin = std::chrono::steady_clock::now();
    CHECK_THROWS_MATCHES(
        draw(folder, 200ms), PlotError,
        MessageMatches(ContainsSubstring("gnuplot was not done after 0.2 s and was ended")));
    CHECK(std::chrono::steady_clock::now() - begin < 2s);
    check_old_pictures(folder);
    std::this_thread::sleep_until(begin + 2500ms);
    CHECK(folder.names() == Names{"a.png", "a.png.gp.tmp", "a.svg", "bin"});
}

TEST_CASE("a gnuplot whose child keeps the pipe of its complaints does not hang",
          "[report][pure]") {
    using namespace std::chrono_literals;
    const TemporaryFolder folder;
    install_stub(folder.path() / "bin", std::string("sleep 5 >/dev/null & ") + kDrawsBoth);
    const ProgramPath stub(folder.path() / "bin", ProgramPath::Rest::kept);
    const auto begin = std::chrono::steady_clock::now();
    draw(folder);
    CHECK(std::chrono::steady_clock::now() - begin < 4s);
}

TEST_CASE("a signal while gnuplot draws ends it and leaves both pictures as they were",
          "[report][pure]") {
    const TemporaryFolder folder;
    install_stub(folder.path() / "bin", "kill -TERM $PPID; sleep 10");
    const ProgramPath stub(folder.path() / "bin", ProgramPath::Rest::kept);
    write_old_pictures(folder);
    const SignalWatch watch(folder.path() / "a.png");
    CHECK_THROWS_AS(draw(folder), PlotError);
    CHECK(num_signals == 1);
    check_old_pictures(folder);
    CHECK(folder.names() == Names{"a.png", "a.svg", "bin"});
}

TEST_CASE("two runs that draw the same pictures at once are in no other's way", "[report][pure]") {
    const TemporaryFolder folder;
    install_stub(folder.path() / "bin", std::string("sleep 0.1; ") + kDrawsBoth);
    const ProgramPath stub(folder.path() / "bin", ProgramPath::Rest::kept);
    std::atomic<int> num_failures = 0;
    const auto draw_counted = [&] {
        try {
            draw(folder);
        } catch (const PlotError&) {
            ++num_failures;
        }
    };
    std::thread other(draw_counted);
    draw_counted();
    other.join();
    CHECK(num_failures == 0);
    CHECK(folder.names() == Names{"a.png", "a.svg", "bin"});
}

TEST_CASE("no name of a folder means more to gnuplot than a name", "[report][pure]") {
    if (!have_gnuplot()) {
        SKIP("needs gnuplot");
    }
    const TemporaryFolder folder;
    const auto before = std::filesystem::current_path();
    std::filesystem::current_path(folder.path());
    const std::string name =
        GENERATE("|touch pwned", "~", "two\nlines", "it's \"so\"", "-e", "%d `touch pwned` $HOME");
    std::filesystem::create_directory(name);
    draw(std::filesystem::path(name));
    std::filesystem::current_path(before);
    CHECK(folder.names() == Names{name});
    CHECK(read_file(folder.path() / name / "a.png").starts_with("\x89PNG"));
    CHECK_THAT(read_file(folder.path() / name / "a.svg"), ContainsSubstring("</svg>"));
}

TEST_CASE("OPEN-23: a gnuplot that says more than a pipe holds does not hang", "[report][pure]") {
    const TemporaryFolder folder;
    install_stub(folder.path() / "bin",
                 "i=0; while [ $i -lt 20000 ]; do echo 'complaint' >&2; i=$((i+1)); done; exit 3");
    const ProgramPath stub(folder.path() / "bin", ProgramPath::Rest::kept);
    CHECK_THROWS_MATCHES(draw(folder), PlotError,
                         MessageMatches(ContainsSubstring("exit code 3 (complaint)")));
}

TEST_CASE("a gnuplot that draws nothing and says all is well is caught", "[report][pure]") {
    const TemporaryFolder folder;
    install_stub(folder.path() / "bin", "exit 0");
    const ProgramPath stub(folder.path() / "bin", ProgramPath::Rest::kept);
    CHECK_THROWS_MATCHES(draw(folder), PlotError,
                         MessageMatches(ContainsSubstring("drew nothing")));
    CHECK(folder.names() == Names{"a.png.gp.tmp", "bin"});
}

TEST_CASE("OPEN-23: a gnuplot that is killed is caught", "[report][pure]") {
    const TemporaryFolder folder;
    install_stub(folder.path() / "bin", "kill -9 $$");
    const ProgramPath stub(folder.path() / "bin", ProgramPath::Rest::kept);
    CHECK_THROWS_MATCHES(draw(folder), PlotError,
                         MessageMatches(ContainsSubstring("exit code 137 (it gave no reason)")));
}

TEST_CASE("whole pictures take their places and the scripts go", "[report][pure]") {
    const TemporaryFolder folder;
    install_stub(folder.path() / "bin", kDrawsBoth);
    const ProgramPath stub(folder.path() / "bin", ProgramPath::Rest::kept);
    draw(folder);
    CHECK(read_file(folder.path() / "a.png") == "drawn IEND\xae\x42\x60\x82");
    CHECK(read_file(folder.path() / "a.svg") == "<svg></svg>\n");
    CHECK(folder.names() == Names{"a.png", "a.svg", "bin"});
}

TEST_CASE("a missing folder for the picture is named in one line", "[report][pure]") {
    const TemporaryFolder folder;
    CHECK_THROWS_MATCHES(
        draw(folder.path() / "two\nlines"), PlotError,
        MessageMatches(ContainsSubstring("two lines/a.png: No such file or directory") &&
                       !ContainsSubstring("\n")));
}

TEST_CASE("text reaches gnuplot as it stands", "[report][pure]") {
    CHECK(gnuplot_literal("it's \"a\\b\"") == "'it''s \"a\\b\"'");
    CHECK(gnuplot_literal("two\nlines") == "'two lines'");
    CHECK(gnuplot_label("read_floor {x}^2 @ & ~") == "'read\\_floor \\{x\\}\\^2 \\@ \\& \\~'");
    CHECK(gnuplot_bold("a_b") == "'{/:Bold a\\_b}'");
}
