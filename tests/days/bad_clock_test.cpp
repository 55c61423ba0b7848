// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// Day 20 with clocks that no machine should have: whatever the intervals, its files stay readable
// and its text holds no number that isn't one.
#include "sweep_files.hpp"

#include <nanoserve/bench/compare_reads.hpp>
#include <nanoserve/bench/fake_clock.hpp>
#include <nanoserve/bench/time_read.hpp>
#include <nanoserve/report/csv.hpp>
#include <nanoserve/report/csv_cells.hpp>
#include <nanoserve/report/table.hpp>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <report/broken_number.hpp>
#include <report/comma_locale.hpp>

#include <cstddef>
#include <limits>
#include <string>
#include <vector>

using namespace nanoserve;
using namespace nanoserve::day20;
using nanoserve::report::testing::CommaLocale;
using nanoserve::report::testing::has_broken_number;

namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kMax = std::numeric_limits<double>::max();
constexpr double kTiny = std::numeric_limits<double>::denorm_min();

// What a clock says, interval after interval, from the beginning again when it is through.
struct BadClock {
    const char* kind;
    std::vector<double> intervals_ns;

    [[nodiscard]] FakeClock script(std::size_t num_samples) const {
        std::vector<double> script;
        for (std::size_t i = 0; i < num_samples; ++i) {
            script.push_back(intervals_ns[i % intervals_ns.size()]);
        }
        return FakeClock(script);
    }
};

BadClock bad_clock() {
    return GENERATE(
        BadClock{"backward", {-5, -1000}}, BadClock{"now and then backward", {1000, 1010, -1e300}},
        BadClock{"frozen", {0}}, BadClock{"coarse, 16 ms", {0, 0, 0, 16e6, 0}},
        BadClock{"jumping", {1000, 1001, 999, 1e15}}, BadClock{"not a number", {kNaN}},
        BadClock{"floating, torn", {1000, kNaN, kInf, -kInf, 1001}},
        BadClock{"at the edges of a double", {kTiny, kMax, 1000}},
        BadClock{"too short for a microsecond", {kTiny}}, BadClock{"too long", {kMax}},
        BadClock{"bimodal", {1000, 1300, 1001, 1299, 1300}},
        BadClock{"drifting", {1000, 1010, 1020, 1030, 1040, 1050, 1060, 1070, 1080, 1090, 1100}});
}

// What the sweep measures at one length of history, on that clock.
SweepPoint point_on(const BadClock& bad, std::int64_t seq_len, std::size_t num_samples) {
    const auto read = [] {};
    const TimingOptions options{.num_samples = num_samples};
    FakeClock clock = bad.script(2 * num_samples);
    const ReadComparison comparison = compare_reads(clock, read, read, options);
    FakeClock floor_clock = bad.script(num_samples);
    return {.seq_len = seq_len,
            .kv_bytes = seq_len * 4096,
            .reads = {{.name = "gather", .timing = comparison.baseline, .comparison = std::nullopt},
                      {.name = "fused", .timing = comparison.candidate, .comparison = comparison}},
            .floor = time_read(floor_clock, read, options)};
}

void check_csv(const std::vector<report::ReadRow>& rows) {
    const std::string csv = report::to_csv(rows);
    CHECK(!has_broken_number(csv));
    const auto records = report::parse_csv_records(csv);
    CHECK(records.size() == rows.size() + 1);
    for (const report::CsvRecord& record : records) {
        CHECK(record.cells.size() == report::read_row_columns().size());
    }
    CHECK(report::to_csv(report::parse_csv(csv)) == csv);
}

void check_json(const report::Sidecar& sidecar) {
    const std::string json = report::to_json(sidecar);
    CHECK(!has_broken_number(json));
    CHECK(report::to_json(report::parse_sidecar(json)) == json);  // the parser is a strict one
}

void check_files(const std::vector<SweepPoint>& points) {
    const auto rows = to_rows(Options{}, "a machine", points);
    check_csv(rows);
    check_json(to_sidecar(Options{}, {}, points, rows));
    CHECK(!has_broken_number(report::format_table(rows)));
    CHECK(!has_broken_number(report::markdown_table(rows)));
    CHECK(!has_broken_number(describe(*points.front().reads.back().comparison)));
}

}  // namespace

TEST_CASE("a bad clock leaves readable files without inf or NaN", "[days]") {
    const BadClock bad = bad_clock();
    const std::size_t num_samples = GENERATE(1, 2, 6, 50);
    CAPTURE(bad.kind, num_samples);
    check_files({point_on(bad, 16, num_samples), point_on(bad, 64, num_samples)});
}

TEST_CASE("a bad clock under decimal commas leaves the same files", "[days]") {
    const BadClock bad = bad_clock();
    CAPTURE(bad.kind);
    const std::vector points = {point_on(bad, 16, 50), point_on(bad, 64, 50)};
    const auto rows = to_rows(Options{}, "a machine", points);
    const auto sidecar = to_sidecar(Options{}, {}, points, rows);
    const std::string csv = report::to_csv(rows);
    const std::string json = report::to_json(sidecar);
    const std::string table = report::format_table(rows);
    const CommaLocale commas;
    CHECK(report::to_csv(rows) == csv);
    CHECK(report::to_json(sidecar) == json);
    CHECK(report::format_table(rows) == table);
    check_files(points);
}

TEST_CASE("no samples make rows of keys alone", "[days]") {
    const ReadComparison nothing({}, {}, 1);
    const SweepPoint point{
        .seq_len = 16,
        .kv_bytes = 16 * 4096,
        .reads = {{.name = "gather", .timing = nothing.baseline, .comparison = std::nullopt},
                  {.name = "fused", .timing = nothing.candidate, .comparison = nothing}},
        .floor = {}};
    check_files({point});
    CHECK(!to_rows(Options{}, "a machine", {&point, 1})[1].best_us);
    CHECK(describe(nothing) == "no speedup: no usable samples");
}

TEST_CASE("a million samples are counted, written and read back", "[days]") {
    constexpr std::size_t kNumSamples = 1'000'000;
    const SweepPoint point = point_on({"drifting", {1000, 1001, 1002, 1003}}, 16, kNumSamples);
    // Pairs take turns in going first: each read gets two of the four values, half a step apart.
    CHECK(point.reads[1].comparison->pairs.size() == kNumSamples);
    CHECK(point.reads[1].comparison->verdict() == Verdict::no_difference);
    check_files({point});
}
