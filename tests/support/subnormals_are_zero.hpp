// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#if defined(__SSE__)
#include <xmmintrin.h>
#endif

namespace nanoserve::testing {

/// While it lives, this thread's processor takes subnormal floats for 0 and makes none, as in a
/// program that was linked with -ffast-math or asked for it. Changes nothing on other processors
/// than x86.
class SubnormalsAreZero {
  public:
#if defined(__SSE__)
    SubnormalsAreZero() {
        _mm_setcsr(before_ | 0x8040u);
    }  // FTZ and DAZ
    ~SubnormalsAreZero() {
        _mm_setcsr(before_);
    }
#else
    SubnormalsAreZero() = default;
#endif
    SubnormalsAreZero(const SubnormalsAreZero&) = delete;
    SubnormalsAreZero& operator=(const SubnormalsAreZero&) = delete;

    /// Whether it is so at the moment.
    [[nodiscard]] static bool holds() {
        volatile float subnormal = 0x1p-140f;
        volatile bool is_zero = subnormal == 0.0f;  // or the comparison could wait for another mode
        return is_zero;
    }

  private:
#if defined(__SSE__)
    unsigned before_ = _mm_getcsr();
#endif
};

}  // namespace nanoserve::testing
