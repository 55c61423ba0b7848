// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <nanoserve/report/file_error.hpp>
#include <nanoserve/report/record.hpp>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <report/sample_rows.hpp>
#include <report/temporary_folder.hpp>

#include <limits>
#include <optional>
#include <string>
#include <vector>

using namespace nanoserve::report;
using namespace nanoserve::report::testing;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::MessageMatches;

namespace {

// Two reads on 16 and 64 tokens, in a record of one shape.
Record made_record() {
    Record record;
    append_read(record.rows, "gather", {4, 16});
    append_read(record.rows, "fused", {3, 12}, "faster");
    for (const ReadRow& row : record.rows) {
        record.sidecar.samples.push_back(
            {row.read, row.seq_len, "", {*row.best_us * 1e3 + 500, *row.best_us * 1e3}});
    }
    return record;
}

void check_refused(const Record& record, const std::string& reason) {
    CHECK_THROWS_MATCHES(
        require_same_run(record.rows, record.sidecar), FileError,
        MessageMatches(ContainsSubstring("the record and its sidecar are of different runs: ") &&
                       ContainsSubstring(reason)));
}

}  // namespace

TEST_CASE("a record whose bests are its fastest samples is of one run", "[report][pure]") {
    Record record = made_record();
    CHECK_NOTHROW(require_same_run(record.rows, record.sidecar));
    record.rows[1].best_us = 16 * (1 + std::numeric_limits<double>::epsilon());
    CHECK_NOTHROW(require_same_run(record.rows, record.sidecar));
}

TEST_CASE("a sidecar of another run is named by the first row that differs", "[report][pure]") {
    Record record = made_record();
    SECTION("another time") {
        record.sidecar.samples[3].samples_ns = {12500, 12001};
        check_refused(record,
                      "best_us of fused, 64 tokens is 12 in the record, the samples say "
                      "12.001");
    }
    SECTION("no time in one of the two") {
        record.rows[0].best_us.reset();
        check_refused(record, "gather, 16 tokens is empty in the record, the samples say 4");
        record.rows[0].best_us = 4;
        record.sidecar.samples[0].samples_ns.clear();
        check_refused(record, "gather, 16 tokens is 4 in the record, the samples say empty");
    }
    SECTION("a series that is named by shape and batch") {
        record.sidecar.samples[2].read = series_name(record.rows[2]);
        CHECK_NOTHROW(require_same_run(record.rows, record.sidecar));
        record.sidecar.samples[2].samples_ns = {2900};
        check_refused(record, "fused 32/8/64 num_seqs 1 fp32, 16 tokens");
    }
}

TEST_CASE("a row without samples is taken as it is", "[report][pure]") {
    Record record = made_record();
    record.sidecar.samples.clear();
    CHECK_NOTHROW(require_same_run(record.rows, record.sidecar));
}

TEST_CASE("a record is read from both files, and an error names the file", "[report][pure]") {
    const TemporaryFolder folder;
    const auto csv = folder.path() / "a.csv";
    Record record = made_record();
    write_results(csv, record.rows, record.sidecar);
    CHECK(read_record(csv).rows == record.rows);
    CHECK(read_record(csv).sidecar == record.sidecar);
    record.rows[0].best_us = 5;
    write_results(csv, record.rows, record.sidecar);
    CHECK_THROWS_MATCHES(
        read_record(csv), FileError,
        MessageMatches(ContainsSubstring("a.csv: the record and its sidecar are of different")));
    std::filesystem::remove(folder.path() / "a.json");
    CHECK_THROWS_MATCHES(read_record(csv), FileError, MessageMatches(ContainsSubstring("a.json")));
}
