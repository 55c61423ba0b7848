// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// The parts of Day 20 that can be proven without a clock: flags, rows, sidecar.
#include "options.hpp"
#include "sweep_files.hpp"

#include <nanoserve/report/csv.hpp>
#include <nanoserve/report/file_error.hpp>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

using Catch::Matchers::ContainsSubstring;
using namespace nanoserve;
using namespace nanoserve::day20;

namespace {

std::variant<Options, Refusal> parse(std::vector<const char*> arguments) {
    arguments.insert(arguments.begin(), "day20_readbench");
    return parse_options(static_cast<int>(arguments.size()), arguments.data());
}

void refused(const std::vector<const char*>& arguments, const char* text) {
    const auto parsed = parse(arguments);
    REQUIRE(std::holds_alternative<Refusal>(parsed));
    CHECK(std::get<Refusal>(parsed).status == kWrongUsage);
    CHECK_THAT(std::get<Refusal>(parsed).text, ContainsSubstring(text));
    CHECK_THAT(std::get<Refusal>(parsed).text, !ContainsSubstring("\n"));
}

// A point in which gather takes gather_ns, fused fused_ns and the floor floor_ns, always.
SweepPoint point_of(std::int64_t seq_len, double gather_ns, double fused_ns, double floor_ns) {
    const std::vector<double> gather(10, gather_ns), fused(10, fused_ns), floor(10, floor_ns);
    const ReadComparison comparison(gather, fused, 1);
    return {.seq_len = seq_len,
            .kv_bytes = seq_len * 4096,
            .reads = {{.name = "gather",
                       .timing = comparison.baseline,
                       .comparison = std::nullopt,
                       .benchmark_us = gather_ns / 1e3},
                      {.name = "fused",
                       .timing = comparison.candidate,
                       .comparison = comparison,
                       .benchmark_us = fused_ns / 1e3}},
            .floor = ReadTiming(floor)};
}

}  // namespace

TEST_CASE("without flags Day 20 sweeps the source document's histories on one warm thread",
          "[days]") {
    const auto options = std::get<Options>(parse({}));
    CHECK(options.histories == std::vector<std::int64_t>{16, 64, 256, 1024, 4096});
    CHECK(options.num_samples == 400);
    CHECK(options.num_threads == 1);
    CHECK(options.cache == CacheState::warm);
    CHECK(options.model == llama_3_2_1b());
    CHECK(options.data.filename() == "data");
}

TEST_CASE("flags set what they say, and histories are put in order once each", "[days]") {
    const auto options = std::get<Options>(
        parse({"--histories", "64,16,64", "--model", "llama-3-8b", "--dtype", "bf16",
               "--block-size", "8", "--samples", "6", "--threads", "2", "--cache", "cold", "--seed",
               "7,8", "--instruction-set", "baseline"}));
    CHECK(options.histories == std::vector<std::int64_t>{16, 64});
    CHECK(options.model == llama_3_8b());
    CHECK(options.dtype == DType::bf16);
    CHECK(options.block_size == 8);
    CHECK(options.num_samples == 6);
    CHECK(options.num_threads == 2);
    CHECK(options.cache == CacheState::cold);
    CHECK(options.seeds == std::vector<std::uint32_t>{7, 8});
    CHECK(options.instruction_set == InstructionSet::baseline);
    CHECK(std::get<Options>(parse({"--name", "day-21-cold"})).csv().filename() ==
          "day-21-cold.csv");
    CHECK(std::get<Options>(parse({"--name", "day-21-cold"})).plot_stem().filename() ==
          "day-21-cold");
}

TEST_CASE("a wrong flag is one line with its value and its limit", "[days]") {
    refused({"--samples", "5"}, "--samples: Value 5 not in range 6 to 1000000");
    refused({"--samples", "many"}, "--samples: Value many not in range");
    refused({"--histories", "0"}, "--histories: Value 0 not in range 1 to 1048576");
    refused({"--histories", "16,-4"}, "--histories: Value -4 not in range");
    refused({"--histories"}, "--histories");
    refused({"--block-size", "0"}, "--block-size: Value 0 not in range 1 to 65536");
    refused({"--threads", "1025"}, "--threads: Value 1025 not in range 1 to 1024");
    refused({"--threads", "99999999999999999999"}, "--threads");
    refused({"--model", "gpt"}, "--model: gpt not in {llama-3.2-1b,llama-3-8b}");
    refused({"--dtype", "fp8"}, "--dtype: fp8 not in {fp32,fp16,bf16,fp8_e4m3}");
    refused({"--cache", "hot"}, "--cache: hot not in {warm,cold}");
    refused({"--seed", "-1"}, "--seed");
    refused({"--seed", ""}, "--seed");
    refused({"--repeat", "0"}, "--repeat: Value 0 not in range 1 to 1000");
    refused({"--reads", "gather,scatter"}, "--reads: scatter not in {gather,fused,streaming}");
    refused({"--reads", "fused,fused"}, "--reads names a read twice");
    refused({"--name", "../up"}, "may hold lower-case letters, digits and - only");
    refused({"--histories", "16,,32"}, "--histories: \"16,,32\" has an item that is empty");
    refused({"--samples", "010"}, "--samples: Value 010 is no number in decimal digits");
    refused({"--data", ""}, "--data: its value is empty");
    refused({"--bogus"}, "--bogus");
    refused({"--a\nb"}, "--a b");
    refused({"stray"}, "stray");
}

TEST_CASE("Day 20's plot takes the names of files alone, and says so", "[days]") {
    const auto plot = [](std::vector<const char*> arguments) {
        arguments.insert(arguments.begin(), "day20_plot");
        return parse_plot_options(static_cast<int>(arguments.size()), arguments.data());
    };
    CHECK(std::get<Options>(plot({})).csv().filename() == "day-20-readbench.csv");
    CHECK(std::get<Options>(plot({"--data", "d", "--name", "x"})).csv() == "d/x.csv");
    const auto help = std::get<Refusal>(plot({"--help"}));
    CHECK(help.status == kFine);
    CHECK_THAT(help.text, ContainsSubstring("Draws the pictures of Day 20") &&
                              ContainsSubstring("day20_plot") && !ContainsSubstring("--histories"));
    CHECK(std::get<Refusal>(plot({"--samples", "6"})).status == kWrongUsage);
}

TEST_CASE("a wrong NANOSERVE_INSTRUCTION_SET is a line too", "[days]") {
    setenv("NANOSERVE_INSTRUCTION_SET", "sse9", 1);
    refused({}, "instruction set is \"sse9\"; known are baseline, avx2, avx512");
    unsetenv("NANOSERVE_INSTRUCTION_SET");
}

TEST_CASE("--help is fine and names the gotchas and the exit statuses", "[days]") {
    const auto refusal = std::get<Refusal>(parse({"--help"}));
    CHECK(refusal.status == kFine);
    CHECK_THAT(refusal.text,
               ContainsSubstring("--time-the-step") && ContainsSubstring("Exit status"));
}

TEST_CASE("a point becomes a row for each read, with floor, rate and comparison", "[days]") {
    const std::vector points = {point_of(16, 8000, 4000, 1000)};
    const auto rows = to_rows(Options{}, "a machine", points);
    REQUIRE(rows.size() == 3);
    CHECK(rows[0].read == "gather");
    CHECK(rows[0].best_us == 8.0);
    CHECK(rows[0].floor_us == 1.0);
    CHECK(rows[0].verdict.empty());
    CHECK(rows[1].read == "fused");
    CHECK(rows[1].speedup == 2.0);
    CHECK(rows[1].verdict == "faster");
    CHECK(rows[1].gb_per_s == 16.0 * 4096 / 4000);
    CHECK(rows[1].num_q_heads == 32);
    CHECK(rows[1].layout == "NHD");
    CHECK(rows[2].read == "read_floor");
    CHECK(rows[2].best_us == 1.0);
    CHECK(report::parse_csv(report::to_csv(rows)) == rows);
}

TEST_CASE("the sidecar keeps raw samples, fits and the cost of the last leg", "[days]") {
    // gather: 2 us + 100 ns for each token; fused: 50 ns for each token.
    const std::vector points = {point_of(100, 12000, 5000, 100), point_of(400, 42000, 20000, 400)};
    const auto rows = to_rows(Options{}, "a machine", points);
    const auto sidecar = to_sidecar(Options{}, {}, points, rows);
    const auto fitted = [&](std::string_view name) {
        for (const auto& [key, value] : sidecar.fitted) {
            if (key == name) {
                return value.value_or(-1.0);
            }
        }
        return -2.0;
    };
    CHECK(std::abs(fitted("gather.floor_us") - 2.0) < 1e-9);
    CHECK(std::abs(fitted("gather.us_per_token") - 0.1) < 1e-9);
    CHECK(std::abs(fitted("gather.crossover_tokens") - 20.0) < 1e-6);
    CHECK(fitted("gather.last_leg_ratio") == 3.5);
    CHECK(fitted("fused.last_leg_ratio") == 4.0);
    CHECK(fitted("fused.google_benchmark_us.400") == 20.0);
    REQUIRE(sidecar.samples.size() == 6);
    CHECK(sidecar.samples[1].read == "fused");
    CHECK(sidecar.samples[1].role == "candidate");
    CHECK(sidecar.samples[1].samples_ns == std::vector<double>(10, 5000.0));
}

TEST_CASE("a second opinion that there is not is no number in the sidecar", "[days]") {
    std::vector points = {point_of(16, 8000, 4000, 1000)};
    points[0].reads[1].benchmark_us = std::nullopt;
    const auto sidecar = to_sidecar(Options{}, {}, points, to_rows(Options{}, "a machine", points));
    const auto fitted = std::ranges::find(sidecar.fitted, "fused.google_benchmark_us.16",
                                          [](const auto& fact) { return fact.first; });
    REQUIRE(fitted != sidecar.fitted.end());
    CHECK(fitted->second == std::nullopt);
    CHECK(report::parse_sidecar(report::to_json(sidecar)) == sidecar);
}

TEST_CASE("a folder that isn't there, or can't be looked up, fails as a file does", "[days]") {
    Options options;
    options.plots = ".";
    options.data = GENERATE(std::string("nowhere"), std::string(5000, 'x'));
    CHECK_THROWS_AS(require_outputs(options), report::FileError);
}
