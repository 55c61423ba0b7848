// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// Numbers as text, the same in every locale: exact ones for files, short ones with units for
// people.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace nanoserve::report {

/// The shortest text that `parse_double` turns back into the same value. Precondition: `value` is
/// finite.
[[nodiscard]] std::string exact_text(double value);

/// The value that the whole of `text` spells, with `.` as the decimal point; nothing for "", "1,5",
/// "3 ", "nan" and "inf".
[[nodiscard]] std::optional<double> parse_double(std::string_view text);

/// The whole number that all of `text` spells; nothing for "", "1.5", "+3" and numbers beyond 64
/// bits.
[[nodiscard]] std::optional<std::int64_t> parse_int64(std::string_view text);

/// `value` with `num_digits` significant digits: 0.130, 4.10, 32.5, 1904. There is an exponent only
/// below 0.001 and from 10^8 on; zero is "0", and what is not finite is a dash.
[[nodiscard]] std::string digits_text(double value, int num_digits = 3);

/// A time in the unit that suits it: "300 ns", "4.10 µs", "1.90 ms", "2.00 s". `us` is in
/// microseconds.
[[nodiscard]] std::string duration_text(double us);

/// A ratio of two times, such as "1.27".
[[nodiscard]] std::string ratio_text(double ratio);

}  // namespace nanoserve::report
