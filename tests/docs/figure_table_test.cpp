// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <docs/sample_data.hpp>
#include <figure_table.hpp>
#include <page_error.hpp>

using namespace nanoserve::pages;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::StartsWith;
using nanoserve::pages::testing::SampleData;

namespace {

std::string table(const char* query) {
    SampleData sample;
    DataFolder data = sample.data();
    return figure_table(data, query);
}

}  // namespace

TEST_CASE("a table has a line for each key and a column for each figure", "[docs][pure]") {
    CHECK_THAT(table("sweep: dtype=fp32\n  by seq_len\n  gather: best_us, read=gather\n"
                     "  gather / fused: best_us, read=gather / read=fused\n"),
               StartsWith("| history | gather | gather / fused |\n"
                          "| ---: | ---: | ---: |\n"
                          "| 16 | 10.0 µs | 2.00 × |\n"
                          "| 64 | 40.0 µs | 0.0160 × |\n"));
}

TEST_CASE("a cell without a value is a dash", "[docs][pure]") {
    CHECK_THAT(table("sweep:\nby seq_len\nspeedup: speedup, read=fused"),
               ContainsSubstring("| 16 | 2.00 × |\n| 64 | – |\n"));
}

TEST_CASE("a table may have a line for each pair of keys, and a figure may drop one",
          "[docs][pure]") {
    CHECK_THAT(table("sweep: verdict=faster\nby read, seq_len\nbest: best_us\n"
                     "gather: best_us, read=gather, verdict=*"),
               StartsWith("| read | history | best | gather |\n"
                          "| ---: | ---: | ---: | ---: |\n"
                          "| fused | 16 | 5.00 µs | 10.0 µs |\n"
                          "| fused | 64 | 2.50 ms | 40.0 µs |\n"));
}

TEST_CASE("a table says where its figures come from", "[docs][pure]") {
    CHECK_THAT(table("sweep: read=fused"),
               ContainsSubstring("\n*AMD EPYC, 2 CPUs · GCC 12.2.0 Release · 2026-07-04 · commit "
                                 "abc123 · data/sweep.csv*\n"));
}

TEST_CASE("without columns of its own it is the table of the days' programs", "[docs][pure]") {
    CHECK_THAT(table("sweep: read=fused"), StartsWith("| history | read "));
    CHECK_THAT(table("sweep: read=fused"), !ContainsSubstring("gather"));
}

TEST_CASE("a table of dashes, and one that is half said, is refused", "[docs][pure]") {
    const auto* query =
        GENERATE("sweep:\nby seq_len\nfused: best_us, read=fusd", "sweep:\nby seq_len",
                 "sweep:\nfused: best_us", "sweep:\nby seq_len\nfused", "sweep:\nby tokens\na: b",
                 "swoop:\nby seq_len\nfused: best_us, read=fused", "");
    CAPTURE(query);
    CHECK_THROWS_AS(table(query), PageError);
}
