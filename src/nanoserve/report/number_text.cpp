// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <nanoserve/report/number_text.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <system_error>

namespace nanoserve::report {
namespace {

template <typename Number>
std::optional<Number> parse_whole(std::string_view text) {
    Number value{};
    const char* end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, value);
    if (error != std::errc{} || stop != end) {
        return std::nullopt;
    }
    return value;
}

}  // namespace

std::string exact_text(double value) {
    char buffer[32];
    const auto [end, error] = std::to_chars(buffer, buffer + sizeof buffer, value);
    return std::string(buffer, end);
}

std::optional<double> parse_double(std::string_view text) {
    const std::optional<double> value = parse_whole<double>(text);
    return value && std::isfinite(*value) ? value : std::nullopt;
}

std::optional<std::int64_t> parse_int64(std::string_view text) {
    return parse_whole<std::int64_t>(text);
}

std::string digits_text(double value, int num_digits) {
    if (!std::isfinite(value)) {
        return "–";
    }
    if (value == 0.0) {
        return "0";
    }
    // The exponent of the rounded value: 9.996 has the exponent of 10.0 when three digits are kept.
    const std::string rounded = fmt::format("{:.{}e}", value, num_digits - 1);
    const int exponent = std::stoi(rounded.substr(rounded.find('e') + 1));
    if (exponent < -3 || exponent > 7) {
        return rounded;
    }
    return fmt::format("{:.{}f}", value, std::max(0, num_digits - 1 - exponent));
}

std::string duration_text(double us) {
    struct Unit {
        const char* name;
        double us;
    };
    constexpr Unit kUnits[] = {{"ns", 1e-3}, {"µs", 1.0}, {"ms", 1e3}, {"s", 1e6}};
    const Unit* unit = &kUnits[0];
    for (const Unit& candidate : kUnits) {
        // 0.9995 of a unit is printed as 1.00 of it.
        if (std::abs(us) >= 0.9995 * candidate.us) {
            unit = &candidate;
        }
    }
    if (us == 0.0) {
        unit = &kUnits[1];
    }
    return fmt::format("{} {}", digits_text(us / unit->us), unit->name);
}

std::string ratio_text(double ratio) {
    return digits_text(ratio, 3);
}

}  // namespace nanoserve::report
