// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <nanoserve/report/file_error.hpp>
#include <nanoserve/report/sidecar.hpp>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <report/comma_locale.hpp>
#include <report/temporary_folder.hpp>

#include <algorithm>
#include <clocale>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>

using namespace nanoserve::report;
using namespace nanoserve::report::testing;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::MessageMatches;

namespace {

Sidecar sample_sidecar() {
    Sidecar sidecar;
    sidecar.provenance = {.cpu = "AMD \"EPYC\" µ",
                          .num_cpus = 2,
                          .os = "Debian",
                          .compiler = "GCC 12.2.0",
                          .build_type = "Release",
                          .compile_flags = "-O3",
                          .commit = "0123456789-dirty",
                          .date_utc = "2026-07-04T09:30:00Z",
                          .instruction_set = "avx2",
                          .gpu = GpuFacts{"NVIDIA H200", "13.0", "580.1", "SM 1980 MHz"}};
    sidecar.options = {{"num_samples", "400"}, {"a_before_n", "kept in order"}};
    sidecar.fitted = {{"gather_floor_us", 1.5}, {"crossover_tokens", std::nullopt}};
    sidecar.samples = {{"gather", 16, "alone", {4100, 4100.5, 1e9}},
                       {"fused", 16, "candidate", {}}};
    return sidecar;
}

std::string with(const std::string& text, const std::string& from, const std::string& to) {
    const std::size_t at = text.find(from);
    REQUIRE(at != std::string::npos);
    return text.substr(0, at) + to + text.substr(at + from.size());
}

}  // namespace

TEST_CASE("a sidecar lies beside its result file", "[report][pure]") {
    CHECK(sidecar_path("data/day-20.csv") == "data/day-20.json");
    CHECK(sidecar_path("data.d/day") == "data.d/day.json");
}

TEST_CASE("a sidecar survives writing and reading", "[report][pure]") {
    const TemporaryFolder folder;
    Sidecar sidecar = sample_sidecar();
    write_sidecar(folder.path() / "a.json", sidecar);
    CHECK(read_sidecar(folder.path() / "a.json") == sidecar);
    sidecar.provenance.gpu.reset();
    sidecar.samples.clear();
    sidecar.options.clear();
    CHECK(parse_sidecar(to_json(sidecar)) == sidecar);
}

TEST_CASE("OPEN-20: a locale with decimal commas changes no JSON", "[report][pure]") {
    const std::string expected = to_json(sample_sidecar());
    const CommaLocale commas;
    CHECK(to_json(sample_sidecar()) == expected);
    CHECK(parse_sidecar(expected) == sample_sidecar());
    CHECK_THAT(expected, ContainsSubstring("[4100.0,4100.5,1000000000.0]"));
}

TEST_CASE("OPEN-20: a decimal point of two bytes cuts no number of a JSON", "[report][pure]") {
    const std::string expected = to_json(sample_sidecar());
    if (!CommaLocale::can_speak_c()) {
        SKIP("needs the C library's localedef");
    }
    const CommaLocale points(CommaLocale::kTwoBytes);
    REQUIRE(points.speaks_c());
    REQUIRE(std::string(std::localeconv()->decimal_point) == "\xd9\xab");
    CHECK(parse_sidecar(expected) == sample_sidecar());  // 1.5 and 4100.5 are in it
    CHECK(to_json(sample_sidecar()) == expected);
    CHECK(std::string(std::localeconv()->decimal_point) == "\xd9\xab");  // as it was before
}

TEST_CASE("OPEN-16: numbers that are not finite are null in the file", "[report][pure]") {
    Sidecar sidecar = sample_sidecar();
    sidecar.fitted[0].second = std::numeric_limits<double>::infinity();
    sidecar.samples[0].samples_ns = {std::numeric_limits<double>::quiet_NaN(), 2};
    const std::string text = to_json(sidecar);
    CHECK_THAT(text, ContainsSubstring("[null,2.0]"));
    const Sidecar read = parse_sidecar(text);
    CHECK(!read.fitted[0].second);
    CHECK(std::isnan(read.samples[0].samples_ns[0]));
}

TEST_CASE("four thousand samples take one line", "[report][pure]") {
    Sidecar sidecar = sample_sidecar();
    const std::string before = to_json(sidecar);
    sidecar.samples[0].samples_ns.assign(4000, 123.5);
    const std::string after = to_json(sidecar);
    CHECK(std::count(after.begin(), after.end(), '\n') ==
          std::count(before.begin(), before.end(), '\n'));
}

TEST_CASE("text that is not UTF-8 does not cost the file", "[report][pure]") {
    Sidecar sidecar = sample_sidecar();
    sidecar.provenance.cpu.push_back(static_cast<char>(0xff));
    CHECK(parse_sidecar(to_json(sidecar)).samples == sidecar.samples);
}

TEST_CASE("an option that occurs twice is refused", "[report][pure]") {
    Sidecar sidecar = sample_sidecar();
    sidecar.options.push_back(sidecar.options[0]);
    CHECK_THROWS_AS(to_json(sidecar), std::invalid_argument);
}

TEST_CASE("what is not our JSON is refused", "[report][pure]") {
    const std::string good = to_json(sample_sidecar());
    CHECK_THROWS_AS(parse_sidecar(""), FileError);
    CHECK_THROWS_AS(parse_sidecar(good + "x"), FileError);
    CHECK_THROWS_AS(parse_sidecar("[]"), FileError);
    CHECK_THROWS_AS(parse_sidecar(with(good, "4100.0", "NaN")), FileError);
    CHECK_THROWS_AS(parse_sidecar(with(good, "4100.0", "\"4100\"")), FileError);
    CHECK_THROWS_AS(parse_sidecar(with(good, "\"role\"", "\"rolle\"")), FileError);
    CHECK_THROWS_MATCHES(parse_sidecar(with(good, "\"schema\": 1", "\"schema\": 2")), FileError,
                         MessageMatches(ContainsSubstring("schema 2 instead of 1")));
}

TEST_CASE("an error in a sidecar names the file", "[report][pure]") {
    CHECK_THROWS_MATCHES(read_sidecar("/nowhere/a.json"), FileError,
                         MessageMatches(ContainsSubstring("/nowhere/a.json")));
}

TEST_CASE("a member of another type is refused, not converted", "[report][pure]") {
    const std::string good = to_json(sample_sidecar());
    const auto [from, to] = GENERATE(
        table<std::string, std::string>({{"\"num_cpus\": 2", "\"num_cpus\": true"},
                                         {"\"num_cpus\": 2", "\"num_cpus\": 2.5"},
                                         {"\"num_cpus\": 2", "\"num_cpus\": 4294967298"},
                                         {"\"seq_len\":16", "\"seq_len\":1e300"},
                                         {"\"seq_len\":16", "\"seq_len\":18446744073709551615"},
                                         {"4100.0", "true"},
                                         {"\"schema\": 1", "\"schema\": true"}}));
    CAPTURE(from, to);
    CHECK_THROWS_AS(parse_sidecar(with(good, from, to)), FileError);
}

TEST_CASE("a list or an object of another type is refused, not iterated", "[report][pure]") {
    const std::string good = to_json(sample_sidecar());
    // The right value stays under a name that nobody asks for.
    const auto check_refused = [&](const std::string& member, const std::string& wrong) {
        CAPTURE(member, wrong);
        const std::string name = '"' + member + "\":";
        CHECK_THROWS_AS(parse_sidecar(with(good, name, name + wrong + ", \"unknown\":")),
                        FileError);
    };
    CHECK_NOTHROW(parse_sidecar(with(good, "\"gpu\":", "\"gpu\":null, \"unknown\":")));
    SECTION("lists") {
        const std::string wrong =
            GENERATE("5", "\"text\"", "null", "true", "{}", R"({"a": 5})", R"({"a": {}})");
        check_refused("samples", wrong);
        check_refused("samples_ns", wrong);
    }
    SECTION("objects") {
        const std::string wrong = GENERATE("5", "\"text\"", "true", "[]", "[5]", R"(["text"])");
        check_refused("provenance", wrong);
        check_refused("gpu", wrong);
        check_refused("options", wrong);
        check_refused("fitted", wrong);
    }
    SECTION("objects, but for the GPU, are not null either") {
        check_refused("provenance", "null");
        check_refused("options", "null");
        check_refused("fitted", "null");
    }
}

TEST_CASE("a member that occurs twice is refused, wherever it stands", "[report][pure]") {
    const std::string good = to_json(sample_sidecar());
    const auto [from, to] = GENERATE(table<std::string, std::string>(
        {{"\"schema\": 1", "\"schema\": 9, \"schema\": 1"},
         {"\"num_cpus\": 2", "\"num_cpus\": 2, \"num_cpus\": 2"},
         {"\"cuda\":", "\"name\": \"another\", \"cuda\":"},
         {"\"a_before_n\"", "\"num_samples\": \"6\", \"a_before_n\""},
         {"\"crossover_tokens\"", "\"gather_floor_us\": 2, \"crossover_tokens\""},
         {"\"seq_len\":16", "\"seq_len\":16,\"read\":\"gather\""},
         {"\"samples\": [", "\"samples\": [], \"samples\": ["}}));
    CAPTURE(from, to);
    CHECK_THROWS_MATCHES(parse_sidecar(with(good, from, to)), FileError,
                         MessageMatches(ContainsSubstring("occurs twice")));
}

TEST_CASE("brackets as deep as a file is long are refused without a deep stack", "[report][pure]") {
    const std::string deep(1'000'000, '[');
    const std::string closed = deep + std::string(deep.size(), ']');
    CHECK_THROWS_AS(parse_sidecar(deep), FileError);
    CHECK_THROWS_AS(parse_sidecar("{\"schema\": " + closed + "}"), FileError);
}
