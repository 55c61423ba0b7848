// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch_test_macros.hpp>
#include <docs/sample_data.hpp>
#include <figure_text.hpp>
#include <page_error.hpp>

using namespace nanoserve::pages;
using nanoserve::pages::testing::SampleData;

namespace {

std::string text(const char* query) {
    SampleData sample;
    DataFolder data = sample.data();
    return figure_text(data, parse_figure(query));
}

}  // namespace

TEST_CASE("a figure carries the unit of its column", "[docs][pure]") {
    CHECK(text("sweep: best_us, read=fused, seq_len=64") == "2.50 ms");
    CHECK(text("sweep: floor_us, read=fused, seq_len=16") == "500 ns");
    CHECK(text("sweep: gb_per_s, read=fused, seq_len=64") == "4.64 TB/s");
    CHECK(text("sweep: speedup, read=fused, seq_len=16") == "2.00 ×");
    CHECK(text("sweep: verdict, read=fused, seq_len=16") == "faster");
    CHECK(text("sweep: fitted.fused.floor_us") == "1.25 µs");
    CHECK(text("sweep: fitted.fused.last_leg_ratio") == "6.00 ×");
    CHECK(text("sweep: options.samples") == "400");
}

TEST_CASE("a ratio of two cells is a factor or per cent", "[docs][pure]") {
    CHECK(text("sweep: best_us, read=gather, seq_len=16 / read=fused") == "2.00 ×");
    CHECK(text("sweep: best_us, read=gather, seq_len=16 / seq_len=64 as %") == "25 %");
    CHECK(text("sweep: floor_us, read=fused, seq_len=16 / best_us, read=gather as %") == "5.0 %");
}

TEST_CASE("texts have no ratio", "[docs][pure]") {
    CHECK_THROWS_AS(text("sweep: verdict, read=fused, seq_len=16 / best_us"), PageError);
}

TEST_CASE("the source of a file is its machine, date and commit", "[docs][pure]") {
    SampleData sample;
    DataFolder data = sample.data();
    CHECK(source_text(data, "sweep") ==
          "AMD EPYC, 2 CPUs · GCC 12.2.0 Release · 2026-07-04 · commit abc123 · data/sweep.csv");
}
