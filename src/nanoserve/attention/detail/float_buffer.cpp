// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <nanoserve/attention/detail/float_buffer.hpp>

#include <algorithm>

namespace nanoserve::detail {

float* FloatBuffer::reserve(std::int64_t count) {
    if (count > capacity_) {
        // Half as much again: a history that grows token by token must not be reallocated at each
        // block.
        const std::int64_t grown = std::max(count, capacity_ + capacity_ / 2);
        memory_ = AlignedBuffer(static_cast<std::size_t>(grown) * sizeof(float));
        capacity_ = grown;
    }
    return reinterpret_cast<float*>(memory_.data());
}

}  // namespace nanoserve::detail
