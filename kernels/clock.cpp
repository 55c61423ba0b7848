// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <nanoserve/model/require.hpp>

#include <kernels/clock.hpp>
#include <kernels/cuda_error.hpp>

#include <stdexcept>

namespace nanoserve {

CudaEventClock::CudaEventClock(cudaStream_t stream) : stream_(stream) {
    for (Event& event : events_) {
        cudaEvent_t created = nullptr;
        NANOSERVE_CUDA_TRY(cudaEventCreate(&created));
        event.reset(created);
    }
}

CudaEventReading CudaEventClock::now() {
    const CudaEventReading reading(*this, num_readings_);
    NANOSERVE_CUDA_TRY(cudaEventRecord(events_[num_readings_ % kNumEvents].get(), stream_));
    ++num_readings_;
    return reading;
}

cudaEvent_t CudaEventClock::event_of(const CudaEventReading& reading) const {
    if (num_readings_ - reading.number_ > kNumEvents) {
        throw std::logic_error(join_text("reading ", reading.number_, " is gone: the clock has ",
                                         kNumEvents, " events and has taken ",
                                         num_readings_ - reading.number_ - 1,
                                         " readings since; subtract earlier"));
    }
    return events_[reading.number_ % kNumEvents].get();
}

Nanoseconds operator-(const CudaEventReading& later, const CudaEventReading& earlier) {
    if (later.clock_ != earlier.clock_) {
        throw std::logic_error("the readings are of two clocks: only one clock's have a distance");
    }
    const cudaEvent_t begin = earlier.clock_->event_of(earlier);
    const cudaEvent_t end = later.clock_->event_of(later);
    NANOSERVE_CUDA_TRY(cudaEventSynchronize(later.number_ > earlier.number_ ? end : begin));
    float milliseconds = 0.0f;
    NANOSERVE_CUDA_TRY(cudaEventElapsedTime(&milliseconds, begin, end));
    return Nanoseconds(double{milliseconds} * 1e6);
}

}  // namespace nanoserve
