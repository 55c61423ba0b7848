// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanoserve/cache/aligned_buffer.hpp>

#include <cstdint>

namespace nanoserve::detail {

/// fp32 memory that grows and is kept.
class FloatBuffer {
  public:
    /// At least `count` floats; the contents are kept only when it did not have to grow.
    float* reserve(std::int64_t count);

  private:
    AlignedBuffer memory_;
    std::int64_t capacity_ = 0;
};

}  // namespace nanoserve::detail
