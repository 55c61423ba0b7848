// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <nanoserve/report/plot/label_placement.hpp>
#include <nanoserve/report/plot/paged_read_chart.hpp>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>
#include <report/sample_rows.hpp>

#include <vector>

using namespace nanoserve::report;
using namespace nanoserve::report::testing;
using Catch::Matchers::WithinAbs;

namespace {

constexpr PixelBox kBounds{0, 200, 0, 200};

LabelRequest request(PixelPoint anchor) {
    return {anchor, 40, 16, {LabelSide::kAboveLeft, LabelSide::kBelowRight}};
}

PagedReadFacts facts_of(const std::vector<std::vector<double>>& reads) {
    std::vector<ReadRow> rows;
    for (std::size_t i = 0; i < reads.size(); ++i) {
        append_read(rows, "read" + std::to_string(i), reads[i]);
    }
    append_read(rows, "read_floor", {0.3, 1.2, 7, 40, 300});
    return paged_read_facts(rows);
}

}  // namespace

TEST_CASE("a label takes its first free side", "[report][pure]") {
    const std::vector requests = {request({100, 100}), request({100, 100})};
    const auto placed = place_labels(requests, {}, kBounds);
    REQUIRE(placed[0]);
    REQUIRE(placed[1]);
    CHECK(placed[0]->right < 100);
    CHECK(placed[0]->bottom > 100);
    CHECK(placed[1]->left > 100);
    CHECK(placed[1]->top < 100);
}

TEST_CASE("a label avoids lines and leaves no bounds", "[report][pure]") {
    const std::vector requests = {request({100, 100})};
    const auto line = points_on_line({60, 120}, {100, 120});
    CHECK(place_labels(requests, line, kBounds)[0]->left > 100);
    CHECK(place_labels(std::vector{request({20, 100})}, {}, kBounds)[0]->left > 20);
}

TEST_CASE("a label without a free side is left out", "[report][pure]") {
    const std::vector requests = {request({100, 100}), request({100, 100}), request({100, 100})};
    const auto placed = place_labels(requests, {}, kBounds);
    CHECK(placed[1]);
    CHECK(!placed[2]);
}

TEST_CASE("numbers on the chart cover no other, however close the curves", "[report][pure]") {
    const auto reads =
        GENERATE(std::vector<std::vector<double>>{{4, 16, 66, 300, 1900}, {3, 12, 50, 230, 1500}},
                 std::vector<std::vector<double>>{{4, 16, 66}, {4, 16, 66}},
                 std::vector<std::vector<double>>{{30, 31}, {30, 31}, {30.2, 31}, {29, 33}},
                 std::vector<std::vector<double>>{{3}});
    const PagedReadChart chart = paged_read_chart(facts_of(reads));
    std::vector<PixelBox> boxes;
    for (const PlacedText& label : chart.labels) {
        const double half = 4.8 * static_cast<double>(label.text.size()) - 0.1;
        const PixelPoint at = label.centre;
        const PixelBox box{at.x - half, at.x + half, at.y - 8, at.y + 8};
        CAPTURE(label.text, at.x, at.y);
        CHECK(kChartBox.holds(box));
        for (const PixelBox& other : boxes) {
            CHECK(!box.overlaps(other));
        }
        boxes.push_back(box);
    }
    CHECK(boxes.size() >= 2);
}

TEST_CASE("the axes hold every point, and the guide lies below them all", "[report][pure]") {
    const PagedReadFacts facts = facts_of({{4.1, 16, 66, 300, 1900}, {3, 12, 50, 230, 1500}});
    const PagedReadChart chart = paged_read_chart(facts);
    CHECK(chart.unit == "µs");
    CHECK(chart.history.min < 16);
    CHECK(chart.history.max > 4096);
    CHECK(chart.cost.min < 0.3);
    CHECK(chart.cost.max > 1900);
    REQUIRE(chart.guide);
    for (const CostAtHistory& point : facts.floor) {
        CHECK(chart.guide->per_token * static_cast<double>(point.seq_len) < point.best_us);
    }
    CHECK(chart.guide->angle > 0);
    CHECK(chart.history_ticks.size() == 5);
    const PixelPoint corner = chart_pixel(chart, chart.history.min, chart.cost.max);
    CHECK_THAT(corner.x, WithinAbs(kChartBox.left, 1e-9));
    CHECK_THAT(corner.y, WithinAbs(kChartBox.top, 1e-9));
}

TEST_CASE("slow reads are drawn in milliseconds", "[report][pure]") {
    const PagedReadChart chart = paged_read_chart(facts_of({{130, 200, 900, 5900, 32000}}));
    CHECK(chart.unit == "ms");
    CHECK(chart.us_per_unit == 1000);
    CHECK(chart.cost.max > 32);
}

TEST_CASE("a single history still has an axis with numbers", "[report][pure]") {
    std::vector<ReadRow> rows = {sample_row("gather", 16, 4.1)};
    const PagedReadChart chart = paged_read_chart(paged_read_facts(rows));
    CHECK(!chart.guide);
    CHECK(chart.history.min < chart.history.max);
    std::size_t num_numbers = 0;
    for (const Tick& tick : chart.cost_ticks) {
        num_numbers += tick.text.empty() ? 0 : 1;
    }
    CHECK(num_numbers >= 2);
}

TEST_CASE("labels that would overlap are pushed apart, the others stay", "[report][pure]") {
    CHECK(spread_out({100, 50}, 20, 0, 200) == std::vector<double>{100, 50});
    CHECK(spread_out({100, 104, 40}, 20, 0, 200) == std::vector<double>{92, 112, 40});
    CHECK(spread_out({100, 100, 118}, 20, 0, 200) == std::vector<double>{86, 106, 126});
    CHECK(spread_out({198, 199}, 20, 0, 200) == std::vector<double>{180, 200});
    CHECK(spread_out({1, 2}, 20, 0, 200) == std::vector<double>{0, 20});
    CHECK(spread_out({}, 20, 0, 200).empty());
}
