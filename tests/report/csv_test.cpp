// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <nanoserve/bench/read_comparison.hpp>
#include <nanoserve/report/csv.hpp>
#include <nanoserve/report/csv_cells.hpp>
#include <nanoserve/report/file_error.hpp>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <report/comma_locale.hpp>
#include <report/sample_rows.hpp>
#include <report/temporary_folder.hpp>

#include <limits>
#include <string>
#include <vector>

using nanoserve::Verdict;
using namespace nanoserve::report;
using namespace nanoserve::report::testing;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::MessageMatches;

namespace {

constexpr const char* kHeader =
    "machine,read,dtype,threads,cache,num_q_heads,num_kv_heads,head_dim,num_seqs,seq_len,pattern,"
    "block_size,layout,best_us,mean_us,median_us,lo_us,hi_us,floor_us,predicted_us,gb_per_s,rel_"
    "err,"
    "speedup,verdict\n";

constexpr const char* kRow =
    "\"AMD EPYC, 2 CPUs\",gather,fp32,1,warm,32,8,64,1,16,uniform,16,NHD,4.1,,,,,,,,,,\n";

std::string with(const std::string& text, const std::string& from, const std::string& to) {
    const std::size_t at = text.find(from);
    REQUIRE(at != std::string::npos);
    return text.substr(0, at) + to + text.substr(at + from.size());
}

void check_refused(const std::string& text, const std::string& reason) {
    CAPTURE(text);
    CHECK_THROWS_MATCHES(parse_csv(text), FileError, MessageMatches(ContainsSubstring(reason)));
}

}  // namespace

TEST_CASE("the header has exactly the columns of the design, in their order", "[report][pure]") {
    CHECK(to_csv({}) == kHeader);
}

TEST_CASE("rows survive writing and reading, absent values included", "[report][pure]") {
    std::vector<ReadRow> rows = {full_row(), sample_row("gather", 16, 4.1), ReadRow{}};
    rows.back().threads.reset();
    CHECK(parse_csv(to_csv(rows)) == rows);
    CHECK(to_csv(parse_csv(to_csv(rows))) == to_csv(rows));
    CHECK(to_csv(std::vector{sample_row("gather", 16, 4.1)}) == std::string(kHeader) + kRow);
}

TEST_CASE("text with commas, quotes and line ends survives", "[report][pure]") {
    ReadRow row = full_row();
    row.machine = GENERATE("a,b", "say \"hi\"", "two\nlines", "\r\n", "\"", ",", " blank ", "µ");
    CHECK(parse_csv(to_csv(std::vector{row})) == std::vector{row});
}

TEST_CASE("OPEN-20: a locale with decimal commas changes nothing", "[report][pure]") {
    const std::vector<ReadRow> rows = {full_row()};
    const std::string expected = to_csv(rows);
    const CommaLocale commas;
    CHECK(to_csv(rows) == expected);
    CHECK(parse_csv(expected) == rows);
    const std::vector<CsvRecord> records = parse_csv_records(expected);
    CHECK(records[1].cells.size() == records[0].cells.size());
}

TEST_CASE("OPEN-16: a number that is not finite becomes an empty cell", "[report][pure]") {
    ReadRow row = sample_row("gather", 16, std::numeric_limits<double>::quiet_NaN());
    row.hi_us = std::numeric_limits<double>::infinity();
    const std::vector<ReadRow> rows = parse_csv(to_csv(std::vector{row}));
    CHECK(!rows[0].best_us);
    CHECK(!rows[0].hi_us);
}

TEST_CASE("the reader takes CRLF and a last line without its end", "[report][pure]") {
    std::string text = std::string(kHeader) + kRow + kRow;
    const std::vector<ReadRow> rows = parse_csv(text);
    CHECK(rows.size() == 2);
    text.pop_back();
    CHECK(parse_csv(text) == rows);
    for (std::size_t at = text.find('\n'); at != std::string::npos; at = text.find('\n', at + 2)) {
        text.insert(at, 1, '\r');
    }
    CHECK(parse_csv(text) == rows);
}

TEST_CASE("a wrong cell is refused with line, column and value", "[report][pure]") {
    const std::string good = std::string(kHeader) + kRow;
    const std::string bad = GENERATE("nan", "inf", "-inf", "4.1us", "4,1", "1e999", " 4.1", "four");
    if (bad != "4,1") {
        check_refused(with(good, "4.1", bad), "line 2, column best_us: \"" + bad + "\"");
    }
    check_refused(with(good, ",1,16,", ",1,1x6,"),
                  "line 2, column seq_len: \"1x6\" is not a whole number");
    check_refused(with(good, ",1,16,", ",1,,"), "line 2, column seq_len: \"\"");
    check_refused(with(good, ",1,16,", ",1,16.0,"), "line 2, column seq_len: \"16.0\"");
    check_refused(with(good, "fp32,1,", "fp32,one,"), "line 2, column threads: \"one\"");
}

TEST_CASE("a verdict is one of those that there are", "[report][pure]") {
    const auto verdict =
        GENERATE(Verdict::none, Verdict::faster, Verdict::slower, Verdict::no_difference);
    ReadRow row = full_row();
    row.verdict = to_string(verdict);
    CHECK(parse_csv(to_csv(std::vector{row})) == std::vector{row});
    const std::string wrong = GENERATE("fastest", "Faster", "no  difference", " ", "none");
    row.verdict = wrong;
    check_refused(to_csv(std::vector{row}),
                  "line 2, column verdict: \"" + wrong + "\" is none of faster, slower");
}

TEST_CASE("a line with too few or too many fields is refused", "[report][pure]") {
    const std::string good = std::string(kHeader) + kRow;
    check_refused(with(good, "4.1", "4,1"), "line 2: 25 fields instead of 24");
    check_refused(good + "a,b\n", "line 3: 2 fields");
    check_refused(good + "\n", "line 3: 1 fields");
}

TEST_CASE("a header that is not ours is refused", "[report][pure]") {
    check_refused("", "line 1: the header is missing");
    check_refused(with(kHeader, "dtype", "Dtype"), "line 1, column 3: the header says \"Dtype\"");
    check_refused(with(kHeader, "machine,read", "read,machine"), "line 1, column 1");
    check_refused(with(kHeader, "machine", "\xEF\xBB\xBFmachine"), "line 1, column 1");
    check_refused(with(kHeader, ",verdict", ""), "line 1: 23 fields");
    check_refused(kRow, "line 1, column 1");
}

TEST_CASE("broken quoting is refused", "[report][pure]") {
    check_refused(std::string(kHeader) + "\"open,1\n2\n", "line 2: a quote that is never closed");
    check_refused(std::string(kHeader) + "\"a\"b,\n", "line 2: text behind a closing quote");
    check_refused(std::string(kHeader) + "a\"b,\n", "line 2: a quote inside a cell");
    check_refused(std::string(kHeader) + "\"two\nlines\",\nx", "line 2: 2 fields");
    check_refused("a\rb", "line 1");
}

TEST_CASE("files round trip and errors name the file", "[report][pure]") {
    const TemporaryFolder folder;
    const std::vector<ReadRow> rows = {full_row()};
    write_csv(folder.path() / "a.csv", rows);
    CHECK(read_csv(folder.path() / "a.csv") == rows);
    CHECK_THROWS_MATCHES(read_csv(folder.path() / "b.csv"), FileError,
                         MessageMatches(ContainsSubstring("b.csv")));
    std::filesystem::rename(folder.path() / "a.csv", folder.path() / "c.csv");
    write_csv(folder.path() / "a.csv", {});
    CHECK(read_csv(folder.path() / "a.csv").empty());
}

TEST_CASE("an error is one line, whatever the file holds", "[report][pure]") {
    try {
        static_cast<void>(parse_csv(kHeader + with(kRow, "4.1", "\"4\n1\r\"")));
        FAIL("a number of two lines was accepted");
    } catch (const FileError& error) {
        CHECK(error.what() == std::string("line 2, column best_us: \"4 1 \" is neither a finite "
                                          "number nor empty"));
    }
}
