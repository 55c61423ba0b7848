// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <nanoserve/report/atomic_file.hpp>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <day_file.hpp>
#include <page_error.hpp>
#include <report/temporary_folder.hpp>

#include <filesystem>
#include <string>

using namespace nanoserve::pages;
using Catch::Matchers::ContainsSubstring;

namespace {

constexpr const char* kDay =
    "# a comment\ntitle: fused\nweek: 5\nphase: 2, paged memory\n"
    "builds-on: day16 day18\nadds: attend in place; the oracle\n";

void write_day(const std::filesystem::path& folder, const std::string& name,
               const std::string& builds_on) {
    std::filesystem::create_directories(folder / name);
    nanoserve::report::write_file_atomically(
        folder / name / "day.txt",
        "title: t\nweek: 5\nphase: 2\nbuilds-on: " + builds_on + "\nadds: a\n");
}

}  // namespace

TEST_CASE("a day says where it is and what it builds on", "[docs][pure]") {
    CHECK(parse_day("day19_fused", kDay) == Day{"day19_fused",
                                                "19",
                                                "fused",
                                                "5",
                                                "2, paged memory",
                                                {"16", "18"},
                                                "attend in place; the oracle",
                                                {}});
}

TEST_CASE("an unknown, doubled or missing key of a day is refused", "[docs][pure]") {
    const std::string day = kDay;
    const auto text = GENERATE_COPY(day + "author: me\n", day + "week: 6\n", day + "no colon\n",
                                    day.substr(0, day.find("adds")));
    CAPTURE(text);
    CHECK_THROWS_AS(parse_day("day19_fused", text), PageError);
}

TEST_CASE("the days of a folder come in order; a folder without day.txt is none", "[docs][pure]") {
    const nanoserve::report::testing::TemporaryFolder folder;
    write_day(folder.path(), "day19_fused", "day16");
    write_day(folder.path(), "day16_gather", "");
    std::filesystem::create_directories(folder.path() / "notes");
    const std::vector<Day> days = read_days(folder.path());
    REQUIRE(days.size() == 2);
    CHECK(days[0].number == "16");
    CHECK(days[1].builds_on == std::vector<std::string>{"16"});
}

TEST_CASE("an exercise wants what its regions say and asks for what its test cases are named",
          "[docs][pure]") {
    const nanoserve::report::testing::TemporaryFolder folder;
    write_day(folder.path(), "day19_fused", "");
    const std::filesystem::path exercise = folder.path() / "day19_fused" / "exercise";
    std::filesystem::create_directories(exercise);
    nanoserve::report::write_file_atomically(
        exercise / "exercise.txt",
        "source: a.cpp\nregion: rows | say where\nregion: walk | walk\n");
    nanoserve::report::write_file_atomically(
        exercise / "check.cpp",
        "TEST_CASE(\"first, of one block\") {\n}\nTEST_CASE(\n    \"second \"\n    \"half\", "
        "\"[tag]\") {\n}\n");
    CHECK(read_days(folder.path())[0].exercise ==
          Exercise{{"say where", "walk"}, {"first, of one block", "second half"}});
}

TEST_CASE("a day builds on earlier days only", "[docs][pure]") {
    const nanoserve::report::testing::TemporaryFolder folder;
    write_day(folder.path(), "day16_gather", GENERATE("day16", "day17", "day19"));
    write_day(folder.path(), "day19_fused", "");
    CHECK_THROWS_AS(read_days(folder.path()), PageError);
}

TEST_CASE("the map has a box for each day and an arrow for each thing it builds on",
          "[docs][pure]") {
    const std::string map = day_map({parse_day("day16_gather",
                                               "title: gather\nweek: 5\nphase: 2\n"
                                               "builds-on:\nadds: copy\n"),
                                     parse_day("day19_fused", kDay)});
    CHECK_THAT(map, ContainsSubstring("day19 [label=\"Day 19: fused\\nattend in place\", "
                                      "URL=\"\\ref day19\"]"));
    CHECK_THAT(map, ContainsSubstring("day16 -> day19;"));
    CHECK_THAT(map, !ContainsSubstring("the oracle"));
}

TEST_CASE("a name that is never closed ends with the file", "[docs][pure]") {
    const auto exercise = parse_exercise("", "TEST_CASE(\"one \" \"two");
    CHECK(exercise.behaviours == std::vector<std::string>{"one two"});
}
