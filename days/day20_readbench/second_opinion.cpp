// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include "second_opinion.hpp"

#include <benchmark/benchmark.h>

namespace nanoserve::day20 {
namespace {

// Keeps the time of the one run there is and prints nothing.
class KeepTime : public benchmark::BenchmarkReporter {
  public:
    bool ReportContext(const Context&) override { return true; }
    void ReportRuns(const std::vector<Run>& runs) override {
        time_us = runs.front().GetAdjustedRealTime();
    }

    double time_us = 0.0;
};

}  // namespace

double google_benchmark_us(const std::string& name, const std::function<void()>& read) {
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
