// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <docs/sample_data.hpp>
#include <page_error.hpp>

using namespace nanoserve::pages;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::MessageMatches;
using nanoserve::pages::testing::SampleData;

namespace {

CellValue cell(const char* query) {
    SampleData sample;
    DataFolder data = sample.data();
    return data.cell(parse_cell(query));
}

template <typename Error>
void check_refused(const char* query, const char* reason) {
    CAPTURE(query);
    CHECK_THROWS_MATCHES(cell(query), Error, MessageMatches(ContainsSubstring(reason)));
}

}  // namespace

TEST_CASE("a cell is found by column and keys", "[docs][pure]") {
    CHECK(cell("sweep: best_us, read=fused, seq_len=64") == CellValue(2500.0));
    CHECK(cell("sweep: verdict, read=fused, seq_len=16") == CellValue("faster"));
    CHECK(cell("sweep: fitted.fused.floor_us") == CellValue(1.25));
    CHECK(cell("sweep: options.samples") == CellValue("400"));
}

TEST_CASE("a key that no row has is named with the values there are", "[docs][pure]") {
    check_refused<NoSuchCell>("sweep: best_us, read=fusd, seq_len=16",
                              "read is one of gather, fused, read_floor there");
    check_refused<NoSuchCell>("sweep: best_us, read=fused, seq_len=17",
                              "seq_len is one of 16, 64 there");
}

TEST_CASE("two rows that fit are no answer, and the error says what tells them apart",
          "[docs][pure]") {
    check_refused<PageError>("sweep: best_us, read=fused", "2 rows");
    check_refused<PageError>("sweep: best_us, read=fused", "say also seq_len (16, 64)");
}

TEST_CASE("an empty cell is no zero", "[docs][pure]") {
    check_refused<NoSuchCell>("sweep: speedup, read=gather, seq_len=16", "no value");
    check_refused<NoSuchCell>("sweep: fitted.gather.crossover_tokens", "no value");
}

TEST_CASE("files, columns and members that aren't there are named", "[docs][pure]") {
    check_refused<PageError>("swoop: best_us", "data/swoop.csv");
    check_refused<PageError>("sweep: best, read=fused, seq_len=16", "\"best\"");
    check_refused<PageError>("sweep: best_us, tokens=16", "\"tokens\"");
    check_refused<PageError>("sweep: best_us, mean_us=1", "can't be a key");
    check_refused<PageError>("sweep: fitted.nothing", "data/sweep.json has no fitted.nothing");
}
