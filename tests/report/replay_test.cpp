// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <nanoserve/report/record.hpp>
#include <nanoserve/report/replay.hpp>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <report/sample_rows.hpp>

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

using namespace nanoserve::report;
using namespace nanoserve::report::testing;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::MessageMatches;
using Catch::Matchers::WithinRel;

namespace {

ReadRow gpu_row(const std::string& read, const std::string& verdict = "") {
    ReadRow row = sample_row(read, 16, 0, verdict);
    row.machine = "NVIDIA H200";
    row.cache = "cold";
    row.dtype = "bf16";
    row.threads.reset();
    row.num_seqs = 8;
    return row;
}

// Of each read ten samples: 1, 2, ... 10 times so many nanoseconds.
Record record() {
    Record record;
    const auto add = [&](const std::string& read, const std::string& role, double ns) {
        record.rows.push_back(gpu_row(read));
        SampleSeries series{series_name(record.rows.back()), 16, role, {}};
        for (int i = 1; i <= 10; ++i) {
            series.samples_ns.push_back(i * ns);
        }
        record.sidecar.samples.push_back(series);
    };
    add("kernel", "candidate", 2000);
    add("gather", "baseline", 4000);
    add("load_only_nhd", "alone", 1000);
    record.rows = rows_from_samples(record.rows, record.sidecar);
    record.sidecar.provenance.gpu = GpuFacts{"NVIDIA H200", "13.0", "580.1", "SM 1980 MHz"};
    record.sidecar.options = {{"cache", "cold"}};
    return record;
}

void check_not_whole(const Record& record, const std::string& reason) {
    CHECK_THROWS_MATCHES(require_whole_record(record.rows, record.sidecar), RecordError,
                         MessageMatches(ContainsSubstring(reason)));
}

}  // namespace

TEST_CASE("a series is named by read, shape and batch", "[report][pure]") {
    CHECK(series_name(gpu_row("kernel")) == "kernel 32/8/64 num_seqs 8");
}

TEST_CASE("a series also names a pattern and a dtype that most records do not have",
          "[report][pure]") {
    ReadRow row = gpu_row("kernel");
    row.pattern = "ragged";
    row.dtype = "fp16";
    CHECK(series_name(row) == "kernel 32/8/64 num_seqs 8 ragged fp16");
    CHECK(fact_name("layers", row) == "layers 32/8/64 num_seqs 8 ragged fp16 seq_len 16");
}

TEST_CASE("the bandwidth of a ragged batch counts the bytes that the record names",
          "[report][pure]") {
    Record made = record();
    made.sidecar.fitted = {{fact_name("kv_bytes", made.rows[0]), 5000.0}};
    CHECK(rows_from_samples(made.rows, made.sidecar)[0].gb_per_s == 2.5);
}

TEST_CASE("a row is computed from its raw samples alone", "[report][pure]") {
    const ReadRow kernel = record().rows[0];
    CHECK(kernel.best_us == 2.0);
    CHECK_THAT(*kernel.mean_us, WithinRel(11.0, 1e-12));
    CHECK_THAT(*kernel.median_us, WithinRel(11.0, 1e-12));
    CHECK(kernel.lo_us == 2.0);
    CHECK(kernel.hi_us == 20.0);
    CHECK(kernel.floor_us == 1.0);
    CHECK(kernel.speedup == 2.0);
    CHECK(kernel.verdict == "faster");
    // 8 sequences of 16 tokens: K and V, 8 heads of 64 elements of 2 bytes.
    CHECK_THAT(*kernel.gb_per_s, WithinRel(8 * 16 * 2 * 8 * 64 * 2 / 2000.0, 1e-12));
    CHECK(!record().rows[1].speedup);
    CHECK(record().rows[1].verdict.empty());
}

TEST_CASE("a record that agrees with its samples passes, also when rounded otherwise",
          "[report][pure]") {
    const Record made = record();
    std::vector<ReadRow> recorded = made.rows;
    recorded[0].mean_us = *recorded[0].mean_us * (1 + std::numeric_limits<double>::epsilon());
    recorded[0].predicted_us = 7;  // nothing that samples could tell
    CHECK_NOTHROW(require_same_rows(recorded, made.rows, made.sidecar));
}

TEST_CASE("a figure that its samples do not give is named", "[report][pure]") {
    const Record made = record();
    std::vector<ReadRow> recorded = made.rows;
    const std::string column = GENERATE("best_us", "median_us", "hi_us", "verdict");
    if (column == "best_us") {
        recorded[1].best_us = 4.1;
    } else if (column == "median_us") {
        recorded[1].median_us = 22.001;
    } else if (column == "hi_us") {
        recorded[1].hi_us.reset();
    } else {
        recorded[1].verdict = "slower";
    }
    CHECK_THROWS_MATCHES(
        require_same_rows(recorded, made.rows, made.sidecar), RecordError,
        MessageMatches(ContainsSubstring("gather 32/8/64 num_seqs 8, 16 tokens: " + column)));
}

TEST_CASE("a row without samples is named", "[report][pure]") {
    Record made = record();
    made.sidecar.samples.erase(made.sidecar.samples.begin());
    CHECK_THROWS_MATCHES(
        rows_from_samples(made.rows, made.sidecar), RecordError,
        MessageMatches(ContainsSubstring("no samples of kernel 32/8/64 num_seqs 8, 16 tokens")));
}

TEST_CASE("a record is whole when each series has its row", "[report][pure]") {
    Record made = record();
    CHECK_NOTHROW(require_whole_record(made.rows, made.sidecar));
    made.sidecar.options.clear();  // a record that says nothing of the cache
    CHECK_NOTHROW(require_whole_record(made.rows, made.sidecar));
}

TEST_CASE("a record that was cut or put together is named by what is wrong", "[report][pure]") {
    Record made = record();
    SECTION("a header alone") {
        made.rows.clear();
        check_not_whole(made, "the record has no rows");
    }
    SECTION("a row is missing") {
        made.rows.pop_back();
        check_not_whole(made,
                        "no row for the samples of load_only_nhd 32/8/64 num_seqs 8, 16 "
                        "tokens");
    }
    SECTION("a row occurs twice") {
        made.rows.push_back(made.rows[1]);
        check_not_whole(made, "gather 32/8/64 num_seqs 8, 16 tokens: there are two such rows");
    }
    SECTION("samples occur twice") {
        made.sidecar.samples.push_back(made.sidecar.samples[1]);
        check_not_whole(made, "gather 32/8/64 num_seqs 8, 16 tokens: the sidecar has two series");
    }
}

TEST_CASE("a record of another machine or cache state than its sidecar's is named",
          "[report][pure]") {
    Record made = record();
    SECTION("machine") {
        made.rows[2].machine = "NVIDIA H100";
        check_not_whole(made,
                        "load_only_nhd 32/8/64 num_seqs 8, 16 tokens: machine is \"NVIDIA "
                        "H100\" in the record, \"NVIDIA H200\" in its sidecar");
    }
    SECTION("cache") {
        made.rows[1].cache = "warm";
        check_not_whole(made,
                        "gather 32/8/64 num_seqs 8, 16 tokens: cache is \"warm\" in the "
                        "record, \"cold\" in its sidecar");
    }
    SECTION("OPEN-19: cache, by the bytes of the cell") {
        made.sidecar.options.clear();
        const auto set_layers = [&](double num_layers) {
            made.sidecar.fitted = {{fact_name("layers", made.rows[0]), num_layers},
                                   {fact_name("kv_bytes", made.rows[0]), 1e6},
                                   {fact_name("l2_bytes", made.rows[0]), 4e6}};
        };
        set_layers(16);
        CHECK_NOTHROW(require_whole_record(made.rows, made.sidecar));
        set_layers(15);
        check_not_whole(made,
                        "kernel 32/8/64 num_seqs 8, 16 tokens: cache is \"cold\" in the "
                        "record, \"warm\" in its sidecar");
    }
}

TEST_CASE("the replay shows each row's share of its ceiling, and the own machine's",
          "[report][pure]") {
    std::vector<ReadRow> own = {sample_row("streaming", 16, 5), sample_row("streaming", 64, 5)};
    own[0].floor_us = 4;
    const std::string text = format_replay(record().rows, own);
    CHECK_THAT(text, ContainsSubstring("32/8/64, 8 sequences: NVIDIA H200, bf16") &&
                         ContainsSubstring("AMD EPYC, 2 CPUs"));
    CHECK_THAT(text, ContainsSubstring("16  kernel") && ContainsSubstring("2.00 µs") &&
                         ContainsSubstring("2.00 µs to 20.0 µs") && ContainsSubstring("50.0 %") &&
                         ContainsSubstring("80.0 %\n"));
    CHECK_THAT(format_replay(record().rows, {}), ContainsSubstring("–\n"));
}

TEST_CASE("a record of absurd sizes has a bandwidth without overflow", "[report][pure]") {
    Record made = record();
    for (ReadRow& row : made.rows) {
        row.seq_len = std::numeric_limits<std::int64_t>::max();
    }
    for (SampleSeries& series : made.sidecar.samples) {
        series.seq_len = std::numeric_limits<std::int64_t>::max();
    }
    const ReadRow kernel = rows_from_samples(made.rows, made.sidecar)[0];
    CHECK_THAT(*kernel.gb_per_s, WithinRel(8 * 0x1p63 * 2 * 8 * 64 * 2 / 2000.0, 1e-12));
}

TEST_CASE("a record of an unknown dtype is refused by its row", "[report][pure]") {
    Record made = record();
    made.rows[0].dtype = "fp7";
    made.sidecar.samples[0].read = series_name(made.rows[0]);
    CHECK_THROWS_MATCHES(
        rows_from_samples(made.rows, made.sidecar), RecordError,
        MessageMatches(ContainsSubstring("kernel 32/8/64 num_seqs 8 fp7, 16 tokens") &&
                       ContainsSubstring("\"fp7\"")));
}

TEST_CASE("a sample without its partner is refused by its row", "[report][pure]") {
    Record made = record();
    made.sidecar.samples[1].samples_ns.pop_back();
    CHECK_THROWS_MATCHES(
        rows_from_samples(made.rows, made.sidecar), RecordError,
        MessageMatches(ContainsSubstring("kernel 32/8/64 num_seqs 8, 16 tokens: 10 "
                                         "samples and 9 of gather")));
}
