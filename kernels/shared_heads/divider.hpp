// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kernels/general/host_device.hpp>

#include <bit>
#include <cstdint>

namespace nanoserve {

/// Division by a number that the host knows: a multiplication and a shift, where a GPU has no
/// instruction to divide.
///
/// With 2^(s-1) < divisor <= 2^s let m be 2^(31+s) / divisor, rounded up: below 2^32, and too large
/// by less than divisor / divisor = 1. So x * m / 2^(31+s) is too large by less than x / 2^(31+s),
/// which for x < 2^31 is below 1 / 2^s, at most 1 / divisor: too little to reach the next integer.
class Divider {
  public:
    Divider() = default;

    /// @param divisor 1 to 2^30
    explicit constexpr Divider(std::int32_t divisor)
        : shift_(31 + std::bit_width(static_cast<std::uint32_t>(divisor) - 1)),
          multiplier_(static_cast<std::uint32_t>(
              ((std::uint64_t{1} << shift_) + static_cast<std::uint64_t>(divisor) - 1) /
              static_cast<std::uint64_t>(divisor))) {}

    /// x / divisor, for x from 0 to 2^31 - 1.
    [[nodiscard]] NANOSERVE_DEVICE std::int32_t quotient(std::int32_t x) const {
        const std::uint64_t wide = static_cast<std::uint32_t>(x);
        return static_cast<std::int32_t>(wide * multiplier_ >> shift_);
    }

  private:
    std::int32_t shift_ = 31;
    std::uint32_t multiplier_ = std::uint32_t{1} << 31;
};

}  // namespace nanoserve
