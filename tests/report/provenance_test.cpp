// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <nanoserve/report/provenance.hpp>
#include <nanoserve/report/sidecar.hpp>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <unistd.h>

#include <cstdlib>
#include <string>

using namespace nanoserve::report;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::Matches;

TEST_CASE("the provenance of this process is complete", "[report][pure]") {
    const Provenance provenance = collect_provenance("avx2");
    CHECK(!provenance.cpu.empty());
    CHECK(provenance.num_cpus >= 1);
    CHECK(!provenance.os.empty());
    CHECK_THAT(provenance.compiler, Matches("[A-Za-z]+ [0-9.]+"));
    CHECK_THAT(provenance.date_utc,
               Matches("[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z"));
    CHECK_THAT(provenance.commit, Matches("unknown|[0-9a-f]{10,}(-dirty)?"));
    CHECK(provenance.instruction_set == "avx2");
    CHECK(!provenance.gpu);
}

TEST_CASE("provenance holds no path, no user and no host", "[report][pure]") {
    Sidecar sidecar;
    sidecar.provenance = collect_provenance("avx2");
    CHECK_THAT(sidecar.provenance.compile_flags, !ContainsSubstring("/"));
    CHECK_THAT(sidecar.provenance.compiler, !ContainsSubstring("/"));
    // "GNU/Linux" is no path: a path begins with its slash.
    CHECK_THAT(to_json(sidecar),
               !ContainsSubstring("\"/") && !ContainsSubstring(" /") && !ContainsSubstring("=/"));
    char host[256] = "";
    REQUIRE(::gethostname(host, sizeof host - 1) == 0);
    if (std::string(host).size() > 3) {
        CHECK_THAT(to_json(sidecar), !ContainsSubstring(host));
    }
}

TEST_CASE("a machine's name is short", "[report][pure]") {
    Provenance provenance;
    provenance.cpu = "AMD EPYC";
    provenance.num_cpus = 2;
    CHECK(machine_name(provenance) == "AMD EPYC, 2 CPUs");
    provenance.cpu = "Intel(R) Xeon(R) Platinum 8480C CPU @ 2.00GHz";
    provenance.num_cpus = 1;
    CHECK(machine_name(provenance) == "Intel Xeon Platinum 8480C, 1 CPU");
    provenance.gpu = GpuFacts{"NVIDIA H200", "13.0", "580.1", "SM 1980 MHz"};
    CHECK(machine_name(provenance) == "NVIDIA H200");
}

TEST_CASE("marks, clocks and core counts leave a CPU's name", "[report][pure]") {
    CHECK(detail::short_cpu_name("AMD EPYC 9654 96-Core Processor") == "AMD EPYC 9654");
    CHECK(detail::short_cpu_name("AMD Ryzen 7 7840U with Radeon 780M Graphics") ==
          "AMD Ryzen 7 7840U");
    CHECK(detail::short_cpu_name("Intel(R) Core(TM) i7-8700 CPU @ 3.20GHz") ==
          "Intel Core i7-8700");
    CHECK(detail::short_cpu_name("unknown CPU") == "unknown");
}

TEST_CASE("a value is found by its key alone", "[report][pure]") {
    const char* text = "NAME_2=no\nNAME=\"a = b\"\nlast\t: x : y";
    CHECK(detail::find_value(text, "NAME", '=') == "a = b");
    CHECK(detail::find_value(text, "last", ':') == "x : y");
    CHECK(!detail::find_value(text, "LAST", ':'));
    CHECK(!detail::find_value("", "NAME", '='));
}

TEST_CASE("the caption names machine, compiler, date and commit", "[report][pure]") {
    Provenance provenance{.cpu = "AMD EPYC",
                          .num_cpus = 2,
                          .os = "",
                          .compiler = "GCC 12.2.0",
                          .build_type = "Release",
                          .compile_flags = "",
                          .commit = "0123456789",
                          .date_utc = "2026-07-04T09:30:00Z",
                          .instruction_set = "avx512",
                          .gpu = std::nullopt};
    CHECK(plot_caption(provenance) ==
          "AMD EPYC, 2 CPUs · avx512 · GCC 12.2.0 Release · 2026-07-04 · commit 0123456789");
    provenance.gpu = GpuFacts{"NVIDIA H200", "13.0", "580.1", "SM 1980 MHz"};
    CHECK_THAT(plot_caption(provenance),
               ContainsSubstring("NVIDIA H200 · CUDA 13.0 · driver 580.1 · SM 1980 MHz · GCC"));
}
