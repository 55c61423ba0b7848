// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <nanoserve/report/number_text.hpp>
#include <nanoserve/report/plot/wrapped_text.hpp>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <report/comma_locale.hpp>

#include <cstdio>
#include <limits>
#include <string>

using namespace nanoserve::report;

TEST_CASE("OPEN-20: exact text reads back as the same number in every locale", "[report][pure]") {
    const double value = GENERATE(0.0, -0.1, 1.0 / 3, 4.1, 1234.5, 1e300, 5e-324, 1e-7);
    const nanoserve::report::testing::CommaLocale commas;
    CAPTURE(value, exact_text(value));
    CHECK(parse_double(exact_text(value)) == value);
    CHECK(exact_text(value).find(',') == std::string::npos);
}

TEST_CASE("a number has to be the whole text and finite", "[report][pure]") {
    const char* text =
        GENERATE("", " 1", "1 ", "1,5", "+1", "nan", "inf", "-inf", "1e999", "0x10", "1.5us");
    CAPTURE(text);
    CHECK(!parse_double(text));
    CHECK(!parse_int64(text));
}

TEST_CASE("a whole number may be negative but not broken or too large", "[report][pure]") {
    CHECK(parse_int64("-12") == -12);
    CHECK(!parse_int64("1.5"));
    CHECK(!parse_int64("9223372036854775808"));
}

TEST_CASE("short numbers keep three digits and no exponent", "[report][pure]") {
    const nanoserve::report::testing::CommaLocale commas;
    CHECK(digits_text(0.13) == "0.130");
    CHECK(digits_text(4.1) == "4.10");
    CHECK(digits_text(9.996) == "10.0");
    CHECK(digits_text(32.46) == "32.5");
    CHECK(digits_text(1904.2) == "1904");
    CHECK(digits_text(0.0) == "0");
    CHECK(digits_text(std::numeric_limits<double>::quiet_NaN()) == "–");
    CHECK(digits_text(12345678.0) == "12345678");
    CHECK(digits_text(123456789.0) == "1.23e+08");
    CHECK(digits_text(0.00123) == "0.00123");
    CHECK(digits_text(0.000123) == "1.23e-04");
}

TEST_CASE("a duration takes the unit that suits it", "[report][pure]") {
    CHECK(duration_text(0.3) == "300 ns");
    CHECK(duration_text(0.0) == "0 µs");
    CHECK(duration_text(4.1) == "4.10 µs");
    CHECK(duration_text(999.4) == "999 µs");
    CHECK(duration_text(999.9) == "1.00 ms");
    CHECK(duration_text(1900) == "1.90 ms");
    CHECK(duration_text(2.5e6) == "2.50 s");
}

TEST_CASE("wrapped text keeps every word and the width", "[report][pure]") {
    CHECK(wrapped("one two three", 7) == std::vector<std::string>{"one two", "three"});
    CHECK(wrapped("µµµ µµ", 6) == std::vector<std::string>{"µµµ µµ"});
    CHECK(wrapped("incomprehensible word", 8) == std::vector<std::string>{"incompr…", "word"});
    CHECK(wrapped("", 8).empty());
    CHECK(shortened("streaming", 9) == "streaming");
    CHECK(shortened("streaming!", 9) == "streamin…");
}

TEST_CASE("the locale of these tests writes commas by printf, too", "[report][pure]") {
    if (!nanoserve::report::testing::CommaLocale::can_speak_c()) {
        SKIP("needs the C library's localedef");
    }
    const nanoserve::report::testing::CommaLocale commas;
    REQUIRE(commas.speaks_c());
    char text[16];
    std::snprintf(text, sizeof text, "%.1f", 1.5);
    CHECK(std::string(text) == "1,5");
}
