// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <nanoserve/report/plot/paged_read_finding.hpp>
#include <nanoserve/report/plot/paged_read_panels.hpp>
#include <nanoserve/report/plot/paged_read_picture.hpp>
#include <nanoserve/report/plot/wrapped_text.hpp>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <report/sample_rows.hpp>

#include <algorithm>
#include <string>
#include <vector>

using namespace nanoserve::report;
using namespace nanoserve::report::testing;
using Catch::Matchers::ContainsSubstring;
using Cells = std::vector<std::string>;

namespace {

const std::vector<double> kGather = {4.1, 16, 66, 300, 1900};
const std::vector<double> kFused = {3, 12, 50, 230, 1500};
const std::vector<double> kFloor = {0.3, 1.2, 7, 40, 300};

std::vector<ReadRow> pair_rows(const std::vector<double>& gather, const std::vector<double>& fused,
                               const std::string& verdict) {
    std::vector<ReadRow> rows;
    append_read(rows, "gather", gather);
    append_read(rows, "fused", fused, verdict);
    return rows;
}

// With the verdict that samples which never vary would have.
std::vector<ReadRow> pair_rows(const std::vector<double>& gather,
                               const std::vector<double>& fused) {
    std::vector<ReadRow> rows = pair_rows(gather, fused, "");
    for (std::size_t i = 0; i < std::min(gather.size(), fused.size()); ++i) {
        rows[gather.size() + i].verdict = fused[i] < gather[i]   ? "faster"
                                          : fused[i] > gather[i] ? "slower"
                                                                 : "no difference";
    }
    return rows;
}

std::string title_of(const std::vector<ReadRow>& rows) {
    return finding(paged_read_facts(rows));
}

std::string text_of(const Panel& panel) {
    std::string text;
    for (const std::string& line : panel.lines) {
        text += line + " ";
    }
    return text;
}

void check_fits(const Panel& panel) {
    CHECK(panel.columns.size() <= kMaxPanelColumns);
    CHECK(panel.lines.size() <= kMaxPanelLines);
    CHECK(panel.rows.size() <= 4);
    for (const std::string& line : panel.lines) {
        CAPTURE(line);
        CHECK(num_characters(line) <= kMaxPanelLineLength);
    }
    for (const PanelRow& row : panel.rows) {
        CAPTURE(row.label);
        CHECK(num_characters(row.label) <= kMaxPanelLabelLength);
        CHECK(row.cells.size() == panel.columns.size());
        for (const std::string& cell : row.cells) {
            CHECK(num_characters(cell) <= kMaxPanelCellLength);
        }
    }
}

}  // namespace

TEST_CASE("the title says which read wins and by how much", "[report][pure]") {
    CHECK(title_of(pair_rows(kGather, kFused)) ==
          "One fused read costs 3.00 µs at 16 tokens and 1.50 ms at 4096, 1.27 times as fast as "
          "gather");
    CHECK(title_of(pair_rows(kFused, kGather)) ==
          "One gather read costs 3.00 µs at 16 tokens and 1.50 ms at 4096; fused takes 1.27 times "
          "as long");
}

TEST_CASE("the title says that two reads tie", "[report][pure]") {
    CHECK(title_of(pair_rows(kGather, kFused, "no difference")) ==
          "One read costs 4.10 µs at 16 tokens and 1.90 ms at 4096; gather and fused tie");
    CHECK(title_of(pair_rows({4, 16}, {8, 16})) ==
          "One read costs 4.00 µs at 16 tokens and 16.0 µs at 64; gather and fused tie at 64");
}

TEST_CASE("the title claims no more than the verdicts", "[report][pure]") {
    CHECK(title_of(pair_rows(kGather, kFused, "")) ==
          "One gather read costs 4.10 µs at 16 tokens and 1.90 ms at 4096");
    std::vector<ReadRow> rows = pair_rows({4, 16, 64}, {2, 8, 32});
    rows.back().verdict = "";
    CHECK(title_of(rows) ==
          "One fused read costs 2.00 µs at 16 tokens and 32.0 µs at 256, at 64 2.00 times as fast "
          "as gather");
    rows = pair_rows({4, 16}, {4, 16});
    rows.back().verdict = "";
    CHECK(title_of(rows) ==
          "One read costs 4.00 µs at 16 tokens and 16.0 µs at 64; gather and fused tie at 16");
}

TEST_CASE("a picture compares with the read that its rows were compared with", "[report][pure]") {
    std::vector<ReadRow> rows;
    append_read(rows, "streaming", {8, 16});
    append_read(rows, "gather", {6, 12}, "faster");
    append_read(rows, "fused", {4, 8}, "faster");
    const PagedReadPicture picture = paged_read_picture(rows, "");
    CHECK(picture.heading.title ==
          "One fused read costs 4.00 µs at 16 tokens and 8.00 µs at 64, 2.00 times as fast as "
          "streaming");
    CHECK_THAT(picture.heading.foot.front(), ContainsSubstring("time of streaming"));
    CHECK(picture.job.columns == Cells{"streaming", "gather", "fused"});
    CHECK(picture.job.rows[2].cells == Cells{"1.00", "1.33", "2.00"});
    CHECK_THAT(text_of(picture.job), ContainsSubstring("gather beats streaming throughout") &&
                                         ContainsSubstring("fused beats streaming throughout") &&
                                         !ContainsSubstring("tie"));
}

TEST_CASE("the title of a single point and of a single read claims no more", "[report][pure]") {
    CHECK(title_of(pair_rows({4.1}, {3})) ==
          "One fused read costs 3.00 µs at 16 tokens, 1.37 times as fast as gather");
    CHECK(title_of({sample_row("streaming", 16, 0.5)}) ==
          "One streaming read costs 500 ns at 16 tokens");
}

TEST_CASE("a read is compared where the first one was measured too", "[report][pure]") {
    CHECK(title_of(pair_rows({4, 16}, {2, 8, 32})) ==
          "One fused read costs 2.00 µs at 16 tokens and 32.0 µs at 256, at 64 2.00 times as fast "
          "as gather");
    CHECK(title_of({sample_row("gather", 16, 1), sample_row("fused", 64, 2)}) ==
          "One gather read costs 1.00 µs at 16 tokens");
}

TEST_CASE("the subtitle holds the shape and lists what differs", "[report][pure]") {
    std::vector<ReadRow> rows = pair_rows({4}, {3});
    CHECK(shape_line(rows) ==
          "32 query heads, 8 KV heads, head_dim 64 · 1 sequence · block_size 16 · NHD · fp32 · 1 "
          "thread · "
          "warm cache");
    rows[0].threads = 2;
    rows[1].threads.reset();
    rows[0].dtype = "bf16";
    rows[0].num_seqs = rows[1].num_seqs = 4;
    CHECK_THAT(shape_line(rows), ContainsSubstring("4 sequences") &&
                                     ContainsSubstring("bf16, fp32") &&
                                     ContainsSubstring("2 threads"));
}

TEST_CASE("the cost panel holds floor, slope, crossover and last leg", "[report][pure]") {
    const std::vector<ReadRow> rows = pair_rows({116, 164, 356, 1124}, {58, 82, 178, 562});
    const Panel panel = cost_panel(paged_read_facts(rows));
    CHECK(panel.heading == "Where the cost lives");
    CHECK(panel.columns == Cells{"gather", "fused"});
    CHECK(panel.rows[0].cells == Cells{"100 µs", "50.0 µs"});
    CHECK(panel.rows[1].cells == Cells{"1.00 µs", "500 ns"});
    CHECK(panel.rows[2].cells == Cells{"100", "100"});
    CHECK(panel.rows[3].label == "256 → 1024");
    CHECK(panel.rows[3].cells == Cells{"3.16 ×", "3.16 ×"});
    CHECK_THAT(text_of(panel),
               ContainsSubstring("4 times the history costs fused 3.16 times as much: less than in "
                                 "proportion.") &&
                   ContainsSubstring("Below 100 tokens the fixed floor outweighs the read."));
    check_fits(panel);
}

TEST_CASE("a fixed floor of zero has no crossover", "[report][pure]") {
    const Panel panel = cost_panel(paged_read_facts(pair_rows({16, 64, 256}, {1, 16, 256})));
    CHECK(panel.rows[0].cells == Cells{"0 µs", "0 µs"});
    CHECK(panel.rows[2].cells == Cells{"none", "none"});
    CHECK_THAT(text_of(panel), ContainsSubstring("tokens × slope, off by at most 0.1") &&
                                   !ContainsSubstring("floor + tokens") &&
                                   !ContainsSubstring("Below"));
}

TEST_CASE("one history gives no slope, and the panel says so", "[report][pure]") {
    const Panel panel = cost_panel(paged_read_facts(pair_rows({4.1}, {3})));
    CHECK(panel.rows[0].cells == Cells{"–", "–"});
    CHECK(panel.rows[3].label == "last leg");
    CHECK_THAT(text_of(panel), ContainsSubstring("One history gives no slope"));
    check_fits(panel);
}

TEST_CASE("the job panel holds the time to beat and the way to the read floor", "[report][pure]") {
    std::vector<ReadRow> rows = pair_rows(kGather, kFused);
    append_read(rows, "read_floor", kFloor);
    const Panel panel = job_panel(paged_read_facts(rows));
    CHECK(panel.headline == "beat 1.50 ms at 4096 tokens");
    CHECK(panel.rows[0].cells == Cells{"6.33", "5.00"});
    CHECK(panel.rows[1].cells == Cells{"16\u00a0%", "20\u00a0%"});
    CHECK(panel.rows[2].label == "speedup at 16");
    CHECK(panel.rows[2].cells == Cells{"1.00", "1.37"});
    CHECK(panel.rows[3].cells == Cells{"1.00", "1.27"});
    CHECK_THAT(text_of(panel),
               ContainsSubstring("fused beats gather throughout") &&
                   ContainsSubstring("The read floor leaves room for 5.00 times the speed."));
    check_fits(panel);
}

TEST_CASE("the job panel's meaning follows the outcome", "[report][pure]") {
    const auto meaning = [](const std::vector<ReadRow>& rows) {
        return text_of(job_panel(paged_read_facts(rows)));
    };
    CHECK_THAT(meaning(pair_rows(kFused, kGather)),
               ContainsSubstring("fused loses to gather throughout"));
    CHECK_THAT(meaning(pair_rows(kGather, kFused, "no difference")),
               ContainsSubstring("gather tie: reading in place alone saves no time"));
    CHECK_THAT(meaning(pair_rows({4, 16, 64}, {2, 16, 128})),
               ContainsSubstring("1 faster, 1 slower, 1 tied"));
    CHECK_THAT(meaning(pair_rows(kGather, kFused)), ContainsSubstring("Without a read floor"));
}

TEST_CASE("the job panel says throughout only where every history has that verdict",
          "[report][pure]") {
    std::vector<ReadRow> rows = pair_rows({4, 16, 64}, {2, 8, 32});
    rows.back().verdict = "";
    const std::string text = text_of(job_panel(paged_read_facts(rows)));
    CHECK_THAT(text, !ContainsSubstring("throughout"));
    CHECK_THAT(text, ContainsSubstring("fused against gather: 2 faster, 0 slower, 0 tied, 1 "
                                       "without a verdict."));
    CHECK_THAT(text_of(job_panel(paged_read_facts(pair_rows(kGather, kFused, "")))),
               ContainsSubstring("fused against gather: no verdict."));
}

TEST_CASE("a read that beats its floor is a failed measurement", "[report][pure]") {
    std::vector<ReadRow> rows = {sample_row("fused", 16, 2), sample_row("read_floor", 16, 3)};
    CHECK_THAT(text_of(job_panel(paged_read_facts(rows))),
               ContainsSubstring("that measurement failed"));
}

TEST_CASE("no panel overflows, whatever the reads are called", "[report][pure]") {
    std::vector<ReadRow> rows =
        pair_rows({0.0041, 1e7, 3e7, 4e7, 5e7, 6e7, 7e7, 8e7}, {1, 9e6, 3.1e7, 4.5e7});
    append_read(rows, "a_read_with_a_very_long_name_indeed", {2e-7, 3e-7, 4, 5, 6, 7, 8, 9, 10});
    append_read(rows, "another", {2, 3});
    append_read(rows, "read_floor", {2e-5, 3, 4, 5, 6, 7, 8, 9, 10});
    const PagedReadPicture picture = paged_read_picture(rows, "caption");
    check_fits(picture.cost);
    check_fits(picture.job);
    CHECK_THAT(picture.heading.foot.front(),
               ContainsSubstring("caption") && ContainsSubstring("time of gather"));
}
