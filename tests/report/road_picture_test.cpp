// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <nanoserve/report/atomic_file.hpp>
#include <nanoserve/report/plot/plot_road.hpp>
#include <nanoserve/report/plot/road_picture.hpp>
#include <nanoserve/report/plot/road_script.hpp>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <report/comma_locale.hpp>
#include <report/sample_peers.hpp>
#include <report/temporary_folder.hpp>

#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

using namespace nanoserve::report;
using namespace nanoserve::report::testing;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::MessageMatches;

namespace {

constexpr RoadCell kCells[] = {{1, 4096}, {64, 1024}};

// A day whose reads take `times` their ceiling, 2 us, and were foretold to take half of that. A
// ragged batch and another read are among the rows.
RoadDay sample_day(int number, const std::string& read, double times) {
    RoadDay day{number, "some idea", read, {}};
    for (const std::int64_t head_dim : {64, 128}) {
        for (const RoadCell& cell : kCells) {
            day.rows.push_back(our_row("other", head_dim, cell.num_seqs, cell.seq_len, 99, 2));
            day.rows.push_back(our_row(read, head_dim, cell.num_seqs, cell.seq_len, 77, 2));
            day.rows.back().pattern = "ragged";
            day.rows.push_back(our_row(read, head_dim, cell.num_seqs, cell.seq_len, 2 * times, 2));
            day.rows.back().predicted_us = times;
        }
    }
    return day;
}

std::vector<RoadDay> sample_days() {
    return {sample_day(21, "kernel", 40), sample_day(22, "shared", 4), sample_day(26, "one", 1.25)};
}

}  // namespace

TEST_CASE("the road shows each day's own read over its ceiling, measured and foretold",
          "[report][pure]") {
    const RoadPicture picture = road_picture(sample_days(), kCells, {});
    REQUIRE(picture.panels.size() == 2);
    for (const RoadPanel& panel : picture.panels) {
        REQUIRE(panel.curves.size() == 2);
        for (const RoadCurve& curve : panel.curves) {
            REQUIRE(curve.points.size() == 3);
            CHECK(curve.points[0].measured == 40);
            CHECK(curve.points[0].predicted == 20);
            CHECK(curve.points[2].measured == 1.25);
            for (const RoadPoint& point : curve.points) {
                CHECK(panel.box.contains(ratio_pixel(panel, point.column, point.measured)));
                CHECK(panel.box.contains(ratio_pixel(panel, point.column, *point.predicted)));
            }
        }
    }
    CHECK(picture.panels[0].curves[1].name == "64 × 1024");
    CHECK(picture.panels[1].names[1].text == "64 × 1024: 1.25 ×");
    CHECK(picture.panels[0].ratio.max == picture.panels[1].ratio.max);
}

TEST_CASE("the road's days are named below the axis", "[report][pure]") {
    const RoadPanel panel = road_picture(sample_days(), kCells, {}).panels[0];
    REQUIRE(panel.days.size() == 3);
    CHECK(panel.days[1].lines == std::vector<std::string>{"Day 22", "some idea"});
    CHECK(panel.days[1].column == panel.curves[0].points[1].column);
}

TEST_CASE("the road's title tells the first day from the last", "[report][pure]") {
    CHECK(road_picture(sample_days(), kCells, {}).heading.title ==
          "64 sequences of 1024 tokens: from 40.0 times the ceiling on Day 21 to 1.25 times on Day "
          "26");
}

TEST_CASE("a day that did not read a cell leaves its column empty", "[report][pure]") {
    std::vector<RoadDay> days = sample_days();
    std::erase_if(days[1].rows, [](const ReadRow& row) { return row.num_seqs == 1; });
    const RoadPanel panel = road_picture(days, kCells, {}).panels[0];
    REQUIRE(panel.curves[0].points.size() == 2);
    CHECK(panel.curves[0].points[1].column == panel.days[2].column);
    CHECK(panel.curves[1].points.size() == 3);
}

TEST_CASE("a time that no axis can show is not drawn", "[report][pure]") {
    std::vector<RoadDay> days = sample_days();
    for (ReadRow& row : days[0].rows) {
        row.best_us = 1e300;
    }
    for (ReadRow& row : days[1].rows) {
        row.predicted_us = 0;
    }
    const RoadPanel panel = road_picture(days, kCells, {}).panels[0];
    REQUIRE(panel.curves[0].points.size() == 2);
    CHECK(panel.curves[0].points[0].column == panel.days[1].column);
    CHECK(!panel.curves[0].points[0].predicted);
}

TEST_CASE("a road needs two days, and each cell a row", "[report][pure]") {
    const std::vector<RoadDay> one = {sample_day(21, "kernel", 40)};
    CHECK_THROWS_MATCHES(road_picture(one, kCells, {}), std::invalid_argument,
                         MessageMatches(ContainsSubstring("not 1")));
    constexpr RoadCell kOther[] = {{8, 16}};
    CHECK_THROWS_MATCHES(
        road_picture(sample_days(), kOther, {}), std::invalid_argument,
        MessageMatches(ContainsSubstring("no day has a row for 32/8/64, 8 sequences of 16")));
}

TEST_CASE("the road's script is the same in every locale and holds both panels", "[report][pure]") {
    const auto script = [] { return road_script(road_picture(sample_days(), kCells, {"it's"})); };
    const std::string expected = script();
    CHECK_THAT(expected, ContainsSubstring("$PANEL1_CURVE1 << EOD") &&
                             ContainsSubstring("2.5 1.25 0.625\n") && ContainsSubstring("it''s") &&
                             ContainsSubstring("unset multiplot"));
    const CommaLocale commas;
    CHECK(script() == expected);
}

TEST_CASE("gnuplot draws the road's PNG and SVG", "[report][pure]") {
    if (std::system("gnuplot --version > /dev/null 2>&1") != 0) {
        SKIP("needs gnuplot");
    }
    const TemporaryFolder folder;
    plot_road(sample_days(), kCells, folder.path() / "a road", {"commit unknown"});
    CHECK(folder.names() == std::vector<std::string>{"a road.png", "a road.svg"});
    CHECK(read_file(folder.path() / "a road.png").starts_with("\x89PNG"));
    CHECK_THAT(read_file(folder.path() / "a road.svg"), ContainsSubstring("</svg>"));
}
