// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <nanoserve/report/plot/paged_read_facts.hpp>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>
#include <report/sample_rows.hpp>

#include <algorithm>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

using namespace nanoserve::report;
using namespace nanoserve::report::testing;
using Catch::Matchers::WithinRel;

namespace {

std::vector<std::string> names_of(const PagedReadFacts& facts) {
    std::vector<std::string> names;
    for (const ReadCurve& curve : facts.reads) {
        names.push_back(curve.read);
    }
    return names;
}

double cost_of(const std::string& read) {
    return read == "gather" ? 8 : read == "fused" ? 4 : 2;
}

// Rows as a run with these --reads leaves them: the others are judged against the first.
std::vector<ReadRow> rows_of_reads(const std::vector<std::string>& reads) {
    std::vector<ReadRow> rows;
    for (const std::string& read : reads) {
        append_read(rows, read, {cost_of(read), 4 * cost_of(read)});
        for (std::size_t i = rows.size() - 2; i < rows.size() && read != reads[0]; ++i) {
            rows[i].speedup = cost_of(reads[0]) / cost_of(read);
            rows[i].verdict = *rows[i].speedup > 1 ? "faster" : "slower";
        }
    }
    append_read(rows, "read_floor", {1, 4});
    return rows;
}

}  // namespace

TEST_CASE("reads are sorted out of the rows, gather and fused first", "[report][pure]") {
    std::vector<ReadRow> rows;
    append_read(rows, "streaming", {2, 8}, "faster");
    append_read(rows, "fused", {3, 12}, "faster");
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
}

TEST_CASE("without a verdict two reads have a speedup and no outcome", "[report][pure]") {
    const double best_us = GENERATE(5, 9.6, 20);
    std::vector rows = {sample_row("gather", 16, 10), sample_row("fused", 16, best_us)};
    rows[1].speedup = GENERATE(std::optional<double>(), std::optional<double>(2));
    const PagedReadFacts facts = paged_read_facts(rows);
    CHECK(facts.reads[1].points[0].speedup == 10 / best_us);
    CHECK(!facts.reads[1].points[0].outcome);
    CHECK(!challenger(facts));
}

TEST_CASE("the first read is the one that the rows were compared with", "[report][pure]") {
    std::vector<std::string> reads = {"fused", "gather", "streaming"};
    do {
        for (std::size_t num_reads = 2; num_reads <= reads.size(); ++num_reads) {
            const std::vector<std::string> chosen(reads.begin(), reads.begin() + num_reads);
            CAPTURE(chosen);
            const PagedReadFacts facts = paged_read_facts(rows_of_reads(chosen));
            REQUIRE(facts.reads.size() == num_reads);
            CHECK(facts.reads[0].read == chosen[0]);
            for (const ReadCurve& curve : std::span(facts.reads).subspan(1)) {
                CAPTURE(curve.read);
                const double speedup = cost_of(chosen[0]) / cost_of(curve.read);
                CHECK(curve.longest().speedup == speedup);
                CHECK(curve.longest().outcome ==
                      (speedup > 1 ? Outcome::kFaster : Outcome::kSlower));
            }
        }
    } while (std::next_permutation(reads.begin(), reads.end()));
    CHECK(names_of(paged_read_facts(rows_of_reads({"streaming", "fused", "gather"}))) ==
          std::vector<std::string>{"streaming", "gather", "fused"});
}

TEST_CASE("rows that name no one baseline have gather first and no outcome", "[report][pure]") {
    std::vector<ReadRow> rows = rows_of_reads({"streaming", "gather", "fused"});
    std::erase_if(rows, [](const ReadRow& row) { return row.read == "streaming"; });
    SECTION("nobody is left to have been compared with") {}
    SECTION("it could be either of two") {
        append_read(rows, "other", {1, 4});
        append_read(rows, "another", {1, 4});
    }
    const PagedReadFacts facts = paged_read_facts(rows);
    CHECK(facts.reads[0].read == "gather");
    CHECK(facts.reads[1].read == "fused");
    CHECK(facts.reads[1].longest().speedup == 2);
    CHECK(!facts.reads[1].longest().outcome);
}

TEST_CASE("a verdict against another read than the picture's first is not used", "[report][pure]") {
    // At 16 tokens against streaming, at 64 against gather.
    std::vector<ReadRow> rows = rows_of_reads({"streaming", "gather", "fused"});
    std::erase_if(rows, [](const ReadRow& row) { return row.seq_len != 16; });
    std::vector<ReadRow> others = rows_of_reads({"gather", "fused", "streaming"});
    std::erase_if(others, [](const ReadRow& row) { return row.seq_len != 64; });
    rows.insert(rows.end(), others.begin(), others.end());
    const PagedReadFacts facts = paged_read_facts(rows);
    CHECK(names_of(facts) == std::vector<std::string>{"streaming", "gather", "fused"});
    CHECK(facts.reads[2].points[0].outcome == Outcome::kSlower);
    CHECK(!facts.reads[2].points[1].outcome);
    CHECK(facts.reads[2].longest_shared()->seq_len == 16);
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
