// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include "support/needs_gpu.hpp"

#include <nanoserve/bench/compare_reads.hpp>
#include <nanoserve/bench/time_read.hpp>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>
#include <kernels/clock.hpp>
#include <kernels/clock_graph.hpp>
#include <kernels/cuda_error.hpp>

#include <stdexcept>
#include <vector>

using namespace nanoserve;
using Catch::Matchers::WithinRel;

namespace {

// Long enough for launches and the clock's half microsecond to be little beside it.
constexpr long long kSpinCycles = 400'000;  // about 0.2 ms

__global__ void spin(long long cycles) {
    const long long begin = clock64();
    while (clock64() - begin < cycles) {
    }
}

__global__ void add_one(int* counter) {
    ++*counter;
}

// A stream and a counter in device memory.
class Gpu {
  public:
    Gpu() {
        NANOSERVE_CUDA_TRY(cudaStreamCreate(&stream));
        NANOSERVE_CUDA_TRY(cudaMallocManaged(&counter, sizeof *counter));
        launch_add_one();               // loads its code, which a recording need not do
        launch_spin(10 * kSpinCycles);  // wakes the SM clock up
        NANOSERVE_CUDA_TRY(cudaStreamSynchronize(stream));
        *counter = 0;
    }
    ~Gpu() {
        (void)cudaStreamDestroy(stream);
        (void)cudaFree(counter);
    }
    Gpu(const Gpu&) = delete;
    Gpu& operator=(const Gpu&) = delete;

    void launch_spin(long long cycles) const {
        spin<<<1, 1, 0, stream>>>(cycles);
        NANOSERVE_CUDA_TRY(cudaGetLastError());
    }
    void launch_add_one() const {
        add_one<<<1, 1, 0, stream>>>(counter);
        NANOSERVE_CUDA_TRY(cudaGetLastError());
    }
    [[nodiscard]] int count() const {
        NANOSERVE_CUDA_TRY(cudaStreamSynchronize(stream));
        return *counter;
    }

    cudaStream_t stream = nullptr;
    int* counter = nullptr;
};

}  // namespace

TEST_CASE("CudaEventClock measures twice the time for twice the spin", "[kernels][clock]") {
    testing::needs_gpu();
    const Gpu gpu;
    CudaEventClock clock(gpu.stream);
    const auto time_of = [&](long long cycles) {
        return time_read(clock, [&] { gpu.launch_spin(cycles); },
                         {.num_samples = 20, .settle_calls = 1})
            .best_ns()
            .value();
    };
    const double once = time_of(kSpinCycles);
    CHECK_THAT(time_of(2 * kSpinCycles) / once, WithinRel(2.0, 0.1));
    CHECK_THAT(time_of(8 * kSpinCycles) / once, WithinRel(8.0, 0.1));
}

TEST_CASE("CudaEventClock gives equal spins equal distances, and distances add up",
          "[kernels][clock]") {
    testing::needs_gpu();
    const Gpu gpu;
    CudaEventClock clock(gpu.stream);
    gpu.launch_spin(kSpinCycles);
    const auto first = clock.now();
    gpu.launch_spin(kSpinCycles);
    const auto second = clock.now();
    gpu.launch_spin(kSpinCycles);
    const auto third = clock.now();
    const double one = (second - first).count();
    const double other = (third - second).count();
    CHECK(one > 0.0);
    CHECK_THAT(other, WithinRel(one, 0.05));
    CHECK_THAT((third - first).count(), WithinRel(one + other, 0.02));  // events round to 0.5 us
    CHECK((first - third).count() < 0.0);
}

TEST_CASE("time_read divides a sample of k launches by k on a CudaEventClock", "[kernels][clock]") {
    testing::needs_gpu();
    const Gpu gpu;
    CudaEventClock clock(gpu.stream);
    const auto timing_of = [&](std::size_t calls) {
        return time_read(clock, [&] { gpu.launch_spin(kSpinCycles); },
                         {.num_samples = 10, .calls_per_sample = calls, .settle_calls = 1});
    };
    const ReadTiming single = timing_of(1);
    const ReadTiming five = timing_of(5);
    CHECK(five.samples_ns().size() == 10);
    CHECK_FALSE(five.clock_too_coarse());
    CHECK_THAT(five.best_ns().value(), WithinRel(single.best_ns().value(), 0.1));
    CHECK_THAT(five.samples_ns().front() / single.samples_ns().front(), WithinRel(5.0, 0.2));
}

TEST_CASE("compare_reads finds the shorter spin on a CudaEventClock", "[kernels][clock]") {
    testing::needs_gpu();
    const Gpu gpu;
    CudaEventClock clock(gpu.stream);
    const ReadComparison comparison = compare_reads(
        clock, [&] { gpu.launch_spin(2 * kSpinCycles); }, [&] { gpu.launch_spin(kSpinCycles); },
        {.num_samples = 20, .settle_calls = 1});
    CHECK(comparison.verdict() == Verdict::faster);
    CHECK_THAT(comparison.speedup().value(), WithinRel(2.0, 0.1));
}

TEST_CASE("CudaEventClock refuses a reading whose event was used again", "[kernels][clock]") {
    testing::needs_gpu();
    const Gpu gpu;
    CudaEventClock clock(gpu.stream), other(gpu.stream);
    const auto oldest = clock.now();
    for (std::size_t i = 1; i < CudaEventClock::kNumEvents; ++i) {
        const auto latest = clock.now();
        CHECK((latest - oldest).count() >= 0.0);
    }
    const auto latest = clock.now();
    CHECK_THROWS_AS(latest - oldest, std::logic_error);
    CHECK_THROWS_AS(other.now() - latest, std::logic_error);
}

TEST_CASE("GraphReplay runs its launches at each replay and not while it records",
          "[kernels][clock]") {
    testing::needs_gpu();
    const Gpu gpu;
    const GraphReplay replay(gpu.stream, [&] {
        for (int i = 0; i < 3; ++i) {
            gpu.launch_add_one();
        }
    });
    CHECK(replay.num_nodes() == 3);
    CHECK(gpu.count() == 0);
    replay.launch();
    CHECK(gpu.count() == 3);
    replay();
    replay();
    CHECK(gpu.count() == 9);
}

TEST_CASE("GraphReplay is a read for the harness: a sample of N launches takes N spins",
          "[kernels][clock]") {
    testing::needs_gpu();
    const Gpu gpu;
    CudaEventClock clock(gpu.stream);
    const auto time_of = [&](int num_launches) {
        const GraphReplay replay(gpu.stream, [&] {
            for (int i = 0; i < num_launches; ++i) {
                gpu.launch_spin(kSpinCycles);
            }
        });
        return time_read(clock, replay, {.num_samples = 10, .settle_calls = 1}).best_ns().value();
    };
    CHECK_THAT(time_of(8) / time_of(2), WithinRel(4.0, 0.1));
}

TEST_CASE("GraphReplay passes on what the recording throws and leaves the stream usable",
          "[kernels][clock]") {
    testing::needs_gpu();
    const Gpu gpu;
    const auto record_nothing = [] {};
    const auto throw_midway = [&] {
        gpu.launch_add_one();
        throw std::runtime_error("midway");
    };
    CHECK_THROWS_AS(GraphReplay(gpu.stream, throw_midway), std::runtime_error);
    CHECK_THROWS_AS(GraphReplay(gpu.stream, record_nothing), std::invalid_argument);
    CHECK_THROWS_AS(GraphReplay(nullptr, record_nothing), std::invalid_argument);
    gpu.launch_add_one();
    CHECK(gpu.count() == 1);
}
