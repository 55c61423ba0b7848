// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <nanoserve/report/plot/paged_read_facts.hpp>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>
#include <report/sample_rows.hpp>

#include <stdexcept>
#include <vector>

using namespace nanoserve::report;
using namespace nanoserve::report::testing;
using Catch::Matchers::WithinRel;

TEST_CASE("reads are sorted out of the rows, gather and fused first", "[report][pure]") {
    std::vector<ReadRow> rows;
    append_read(rows, "streaming", {2, 8});
    append_read(rows, "fused", {3, 12});
    append_read(rows, "read_floor", {1, 4});
    append_read(rows, "gather", {4.5, 18});
    std::swap(rows[2], rows[3]);
    const PagedReadFacts facts = paged_read_facts(rows);
    REQUIRE(facts.reads.size() == 3);
    CHECK(facts.reads[0].read == "gather");
    CHECK(facts.reads[1].read == "fused");
    CHECK(facts.reads[2].read == "streaming");
    CHECK(facts.reads[1].shortest().seq_len == 16);
    CHECK(facts.floor.size() == 2);
    CHECK_THAT(*facts.reads[1].longest().times_floor, WithinRel(3.0, 1e-12));
    CHECK_THAT(*facts.reads[1].longest().speedup, WithinRel(1.5, 1e-12));
    CHECK(challenger(facts) == 2U);
}

TEST_CASE("the verdict of the row decides, unless the bests contradict it", "[report][pure]") {
    const auto outcome = [](double best_us, const char* verdict) {
        const std::vector rows = {sample_row("gather", 16, 10),
                                  sample_row("fused", 16, best_us, verdict)};
        return *paged_read_facts(rows).reads[1].points[0].outcome;
    };
    CHECK(outcome(9.9, "faster") == Outcome::kFaster);
    CHECK(outcome(5, "no difference") == Outcome::kNoDifference);
    CHECK(outcome(11, "slower") == Outcome::kSlower);
    CHECK(outcome(11, "faster") == Outcome::kNoDifference);
    CHECK(outcome(9.6, "") == Outcome::kNoDifference);
    CHECK(outcome(5, "") == Outcome::kFaster);
    CHECK(outcome(20, "") == Outcome::kSlower);
}

TEST_CASE("the fit and the last leg come from the bests", "[report][pure]") {
    std::vector<ReadRow> rows;
    append_read(rows, "gather", {10 + 16, 10 + 64, 10 + 256});
    const PagedReadFacts facts = paged_read_facts(rows);
    REQUIRE(facts.reads[0].fit);
    CHECK_THAT(facts.reads[0].fit->floor_us, WithinRel(10.0, 1e-9));
    CHECK_THAT(facts.reads[0].fit->us_per_token, WithinRel(1.0, 1e-9));
    const auto leg = last_leg(facts.reads[0]);
    REQUIRE(leg);
    CHECK(leg->from == 64);
    CHECK(leg->to == 256);
    CHECK(leg->history_ratio == 4);
    CHECK_THAT(leg->cost_ratio, WithinRel(266.0 / 74, 1e-12));
}

TEST_CASE("rows without a time are left out, an interval is whole or absent", "[report][pure]") {
    std::vector<ReadRow> rows;
    append_read(rows, "gather", {4, 16, 64});
    rows[0].best_us.reset();
    rows[1].lo_us = 15;
    rows[2].lo_us = 60;
    rows[2].hi_us = 70;
    const PagedReadFacts facts = paged_read_facts(rows);
    REQUIRE(facts.reads[0].points.size() == 2);
    CHECK(!facts.reads[0].points[0].lo_us);
    CHECK(facts.reads[0].points[1].hi_us == 70);
    CHECK(!challenger(facts));
}

TEST_CASE("a time that no axis can show is left out", "[report][pure]") {
    std::vector<ReadRow> rows;
    append_read(rows, "gather", {4, 1e300, 5e-324, 16});
    rows[3].lo_us = -5;
    rows[3].hi_us = 20;
    const PagedReadFacts facts = paged_read_facts(rows);
    REQUIRE(facts.reads[0].points.size() == 2);
    CHECK(facts.reads[0].longest().best_us == 16);
    CHECK(!facts.reads[0].longest().lo_us);
    CHECK_THROWS_AS(paged_read_facts(std::vector{sample_row("gather", 16, 1e300)}),
                    std::invalid_argument);
}

TEST_CASE("rows that do not make one picture are refused", "[report][pure]") {
    const std::vector twice = {sample_row("gather", 16, 1), sample_row("gather", 16, 2)};
    CHECK_THROWS_AS(paged_read_facts(twice), std::invalid_argument);
    CHECK_THROWS_AS(paged_read_facts({}), std::invalid_argument);
    const std::vector floor_alone = {sample_row("read_floor", 16, 1)};
    CHECK_THROWS_AS(paged_read_facts(floor_alone), std::invalid_argument);
}
