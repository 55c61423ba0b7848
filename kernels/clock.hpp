// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// CudaEventClock: the clock of a CUDA stream, for readbench.
#pragma once

#include <nanoserve/bench/clock.hpp>

#include <cuda_runtime_api.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace nanoserve {

class CudaEventClock;

/// One reading of a CudaEventClock: an event on its stream, not a number. Only the difference of
/// two readings is a time. Valid while its clock lives and has taken fewer than
/// CudaEventClock::kNumEvents readings since.
class CudaEventReading {
    friend class CudaEventClock;
    friend Nanoseconds operator-(const CudaEventReading& later, const CudaEventReading& earlier);

    CudaEventReading(const CudaEventClock& clock, std::uint64_t number)
        : clock_(&clock), number_(number) {}

    const CudaEventClock* clock_;
    std::uint64_t number_;  // of the reading, counted from 0
};

/// Reads when the GPU gets to a point of one stream. `now()` records an event there and returns at
/// once; the host waits only when two readings are subtracted. The resolution is about half a
/// microsecond: put many reads into one sample, as GraphReplay does.
///
/// An event on an idle stream happens at once, so the launch that follows it adds the host's time.
/// One settle call (TimingOptions::settle_calls) before the first reading keeps the stream busy
/// until then: the sample is GPU time alone.
///
/// The stream is borrowed. Not to be copied or moved, because readings point at their clock.
class CudaEventClock {
  public:
    /// Readings that can be alive at once. The harness needs two.
    static constexpr std::size_t kNumEvents = 4;

    /// Throws CudaError when the events can't be created.
    explicit CudaEventClock(cudaStream_t stream);
    CudaEventClock(const CudaEventClock&) = delete;
    CudaEventClock& operator=(const CudaEventClock&) = delete;

    /// Records the next event of the ring on the stream. Throws CudaError.
    [[nodiscard]] CudaEventReading now();

  private:
    friend Nanoseconds operator-(const CudaEventReading& later, const CudaEventReading& earlier);

    struct DestroyEvent {
        void operator()(cudaEvent_t event) const noexcept { (void)cudaEventDestroy(event); }
    };
    using Event = std::unique_ptr<CUevent_st, DestroyEvent>;

    [[nodiscard]] cudaEvent_t event_of(const CudaEventReading& reading) const;

    cudaStream_t stream_;
    std::array<Event, kNumEvents> events_;
    std::uint64_t num_readings_ = 0;
};

/// Waits until the stream has reached the later reading, then gives the GPU's time between the two;
/// below zero when they are in the wrong order. Throws CudaError, also for work on the stream that
/// failed, and std::logic_error for readings of two clocks or for one whose event was used again.
[[nodiscard]] Nanoseconds operator-(const CudaEventReading& later, const CudaEventReading& earlier);

static_assert(Clock<CudaEventClock>);

}  // namespace nanoserve
