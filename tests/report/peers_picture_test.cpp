// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <nanoserve/report/atomic_file.hpp>
#include <nanoserve/report/plot/peers_picture.hpp>
#include <nanoserve/report/plot/peers_script.hpp>
#include <nanoserve/report/plot/plot_peers.hpp>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>
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
using Catch::Matchers::WithinRel;

namespace {

// Two batches at two head_dims. fa3 is above the axis once, and the last cell is lost.
std::vector<PeerCell> sample_cells() {
    std::vector<PeerCell> cells;
    for (const std::int64_t head_dim : {128, 64}) {
        cells.push_back({head_dim, 8, 4096, true, 10, 1.25, {{"fa3", 20, 1.5}, {"vllm", 30, 2}}});
        cells.push_back({head_dim, 1, 16, false, 3, 1.5, {{"vllm", 4, 3}, {"fa3", 9, 9}}});
        cells.push_back({head_dim, 1, 1024, false, 3, 2, {{"fa3", 3, 1.6}, {"vllm", 4, 2}}});
    }
    return cells;
}

std::vector<std::string> texts_of(const std::vector<ColumnText>& columns) {
    std::vector<std::string> texts;
    for (const ColumnText& column : columns) {
        texts.push_back(column.text);
    }
    return texts;
}

}  // namespace

TEST_CASE("the cells stand in the order of batch and history, batches apart", "[report][pure]") {
    const PeersPicture picture = peers_picture(sample_cells(), {});
    REQUIRE(picture.panels.size() == 2);
    const PeersPanel& panel = picture.panels[0];
    CHECK(panel.heading == "head_dim 64");
    CHECK(texts_of(panel.cells) == std::vector<std::string>{"16", "1k", "4k r"});
    CHECK(texts_of(panel.batches) == std::vector<std::string>{"1 sequence", "8 sequences"});
    CHECK(panel.cells[1].column - panel.cells[0].column == 1);
    CHECK(panel.cells[2].column - panel.cells[1].column > 1);
    REQUIRE(panel.edges.size() == 1);
    CHECK(panel.edges[0] > panel.cells[1].column);
    CHECK(panel.edges[0] < panel.cells[2].column);
    CHECK(picture.panels[1].heading == "head_dim 128");
}

TEST_CASE("each peer has a mark in each cell, above the axis at its edge, and ours is the last",
          "[report][pure]") {
    const PeersPanel panel = peers_picture(sample_cells(), {}).panels[0];
    REQUIRE(panel.readers.size() == 3);
    CHECK(panel.readers[0].name == "fa3");
    CHECK(panel.readers[0].points.size() == 2);
    CHECK(panel.readers[0].above == std::vector<double>{panel.cells[0].column});
    CHECK(panel.readers[1].name == "vllm");
    CHECK(panel.readers[1].points.size() == 3);
    CHECK(panel.readers[2].name == "nanoserve");
    CHECK(panel.readers[2].points[0].times == 1.5);
    for (const PeerMarks& reader : panel.readers) {
        for (const ColumnPoint& point : reader.points) {
            CHECK(panel.box.contains(ratio_pixel(panel, point.column, point.times)));
        }
    }
}

TEST_CASE("each cell says how much faster ours is than the best peer, or that it is lost",
          "[report][pure]") {
    const PeersPanel panel = peers_picture(sample_cells(), {}).panels[0];
    REQUIRE(panel.gaps.size() == 3);
    CHECK(panel.gaps[0].speedup == "2.00");
    CHECK_FALSE(panel.gaps[0].is_lost);
    CHECK(panel.gaps[1].speedup == "0.800");
    CHECK(panel.gaps[1].is_lost);
    CHECK(panel.gaps[2].speedup == "1.20");
    CHECK_THAT(panel.remark, ContainsSubstring("1 of 3 cells lost"));
}

TEST_CASE("the peers' title counts the cells and names the means", "[report][pure]") {
    CHECK(peers_picture(sample_cells(), {}).heading.title ==
          "Nearer to the ceiling than every peer in 4 of 6 cells: 1.24 times at head_dim 64, 1.24 "
          "times at head_dim 128");
    std::vector<PeerCell> cells = sample_cells();
    cells[0].our_times = 1.49;  // of 1.5
    CHECK_THAT(peers_picture(cells, {}).heading.title,
               ContainsSubstring(" in 3 of 6 cells, level in 1: "));
}

TEST_CASE("a picture of peers needs cells, of no more than two head_dims", "[report][pure]") {
    CHECK_THROWS_MATCHES(peers_picture({}, {}), std::invalid_argument,
                         MessageMatches(ContainsSubstring("not 0")));
    std::vector<PeerCell> cells = sample_cells();
    cells[0].head_dim = 256;
    CHECK_THROWS_MATCHES(peers_picture(cells, {}), std::invalid_argument,
                         MessageMatches(ContainsSubstring("not 3")));
}

TEST_CASE("round ratios carry numbers as far as the axis has room", "[report][pure]") {
    const auto numbers = [](const LogAxis& axis) {
        std::vector<std::string> texts;
        for (const Tick& tick : ratio_ticks(axis)) {
            if (!tick.text.empty()) {
                texts.push_back(tick.text);
            }
        }
        return texts;
    };
    CHECK(numbers({0.95, 1.6}) == std::vector<std::string>{"1", "1.1", "1.2", "1.5"});
    CHECK(numbers({0.95, 300}) ==
          std::vector<std::string>{"1", "2", "5", "10", "20", "50", "100", "200"});
    RatioFrame frame;
    frame.box = {100, 300, 50, 150};
    frame.width = 4;
    frame.ratio = {1, 100};
    CHECK(ratio_pixel(frame, 1, 10).x == 150);
    CHECK_THAT(ratio_pixel(frame, 1, 10).y, WithinRel(100.0, 1e-12));
}

TEST_CASE("the peers' script is the same in every locale and holds all panels", "[report][pure]") {
    const auto script = [] { return peers_script(peers_picture(sample_cells(), {"it's"})); };
    const std::string expected = script();
    CHECK_THAT(expected, ContainsSubstring("$PANEL0_READER2 << EOD") &&
                             ContainsSubstring("$PANEL1_GAP1 << EOD") &&
                             ContainsSubstring("0.5 1.5\n") && ContainsSubstring("it''s") &&
                             ContainsSubstring("unset multiplot"));
    const CommaLocale commas;
    CHECK(script() == expected);
}

TEST_CASE("gnuplot draws the peers' PNG and SVG", "[report][pure]") {
    if (std::system("gnuplot --version > /dev/null 2>&1") != 0) {
        SKIP("needs gnuplot");
    }
    const TemporaryFolder folder;
    plot_peers(sample_cells(), folder.path() / "the peers", {"commit unknown"});
    CHECK(folder.names() == std::vector<std::string>{"the peers.png", "the peers.svg"});
    CHECK(read_file(folder.path() / "the peers.png").starts_with("\x89PNG"));
    CHECK_THAT(read_file(folder.path() / "the peers.svg"), ContainsSubstring("</svg>"));
}
