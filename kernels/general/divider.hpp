// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstdint>

namespace nanoserve {

/// Divides by a number that the host knows at launch: on a GPU a product and a shift, where a
/// division takes longer than everything else that a lane does for a row.
///
/// With d the divisor, l the smallest integer with d <= 2^l and m = floor(2^(31 + l) / d) + 1, m *
/// d is more than 2^(31 + l) by at most d <= 2^l; so for n below 2^31 the product n * m / 2^(31 +
/// l) is more than n / d by less than 1 / d and has the same integer part.
class Divider {
  public:
    /// @param divisor 1 to 2^31
    explicit constexpr Divider(std::uint32_t divisor)
        : shift_(static_cast<std::uint32_t>(std::bit_width(divisor - 1))),
          factor_(static_cast<std::uint32_t>((std::uint64_t{1} << (31 + shift_)) / divisor + 1)) {}

    /// floor(n / divisor).
    /// @param n below 2^31
    [[nodiscard]] constexpr std::uint32_t quotient(std::uint32_t n) const {
        return static_cast<std::uint32_t>((std::uint64_t{2 * n} * factor_) >> 32) >> shift_;
    }

  private:
    std::uint32_t shift_;   // l
    std::uint32_t factor_;  // m; 2^l < 2 d, so it is below 2^32
};

}  // namespace nanoserve
