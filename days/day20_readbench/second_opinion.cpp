// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include "second_opinion.hpp"

#include <benchmark/benchmark.h>

#include <iterator>
#include <vector>

namespace nanoserve::day20 {
namespace {

// Keeps the time of the one run there is and prints nothing.
class KeepTime : public benchmark::BenchmarkReporter {
  public:
    bool ReportContext(const Context&) override { return true; }
    void ReportRuns(const std::vector<Run>& runs) override {
        const double us = runs.empty() ? 0.0 : runs.front().GetAdjustedRealTime();
        time_us = us > 0.0 ? std::optional(us) : std::nullopt;
    }

    std::optional<double> time_us;
};

// Google Benchmark takes its flags from the environment before main: a filter there or a list of
// names alone would leave no result, an output file that can't be written would end the program.
// The command line counts more.
void set_flags() {
    std::string words[] = {"day20",
                           "--benchmark_list_tests=false",
                           "--benchmark_filter=",
                           "--benchmark_min_warmup_time=0",
                           "--benchmark_repetitions=1",
                           "--benchmark_enable_random_interleaving=false",
                           "--benchmark_report_aggregates_only=false",
                           "--benchmark_display_aggregates_only=false",
                           "--benchmark_format=console",
                           "--benchmark_out=",
                           "--benchmark_out_format=json",
                           "--benchmark_perf_counters=",
                           "--benchmark_time_unit=us"};
    std::vector<char*> arguments;
    for (std::string& word : words) {
        arguments.push_back(word.data());
    }
    arguments.push_back(nullptr);
    int count = static_cast<int>(std::size(words));
    benchmark::Initialize(&count, arguments.data());
}

}  // namespace

std::optional<double> google_benchmark_us(const std::string& name,
                                          const std::function<void()>& read) {
    set_flags();
    benchmark::RegisterBenchmark(name.c_str(),
                                 [&read](benchmark::State& state) {
                                     for ([[maybe_unused]] auto iteration : state) {
                                         read();
                                     }
                                 })
        ->Unit(benchmark::kMicrosecond)
        ->UseRealTime()
        ->MinTime(0.1);
    KeepTime keep;
    benchmark::RunSpecifiedBenchmarks(&keep);
    benchmark::ClearRegisteredBenchmarks();
    return keep.time_us;
}

}  // namespace nanoserve::day20
