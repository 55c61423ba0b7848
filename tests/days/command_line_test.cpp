// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// What CLI11 alone would let pass.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <command_line/parse.hpp>

#include <cstdint>
#include <string>
#include <vector>

using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::MessageMatches;

namespace {

struct Values {
    int number = 0;
    std::vector<std::int64_t> list;
    std::vector<std::string> words;
    std::string folder;
    bool flag = false;
    std::string file;
};

Values parse(std::vector<const char*> arguments) {
    Values values;
    CLI::App app;
    app.add_option("--number", values.number)->check(CLI::Range(-9, 1000));
    app.add_option("--list", values.list)->delimiter(',');
    app.add_option("--words", values.words)->delimiter(',');
    app.add_option("--folder", values.folder);
    app.add_flag("--flag", values.flag);
    app.add_option("file", values.file);
    arguments.insert(arguments.begin(), "program");
    nanoserve::days::parse(app, static_cast<int>(arguments.size()), arguments.data());
    return values;
}

}  // namespace

TEST_CASE("a command line of plain values is read as CLI11 reads it", "[days]") {
    const Values values = parse({"--number", "10", "--list=16,0,-4", "--words", "a b,c", "d",
                                 "--folder", ",x,,", "--flag", "--", "f,"});
    CHECK(values.number == 10);
    CHECK(values.list == std::vector<std::int64_t>{16, 0, -4});
    CHECK(values.words == std::vector<std::string>{"a b", "c", "d"});
    CHECK(values.folder == ",x,,");
    CHECK(values.flag);
    CHECK(values.file == "f,");
}

TEST_CASE("a number is decimal digits, and nothing else", "[days]") {
    const char* number = GENERATE("010", "0x10", "+7", " 7", "00", "-07");
    CHECK_THROWS_MATCHES(
        parse({"--number", number}), CLI::ParseError,
        MessageMatches(ContainsSubstring("--number") && ContainsSubstring("decimal digits")));
    const std::string list = std::string("16,") + number;
    CHECK_THROWS_AS(parse({"--list", list.c_str()}), CLI::ParseError);
}

TEST_CASE("an item of a list that is empty is refused, not dropped", "[days]") {
    const std::string list = GENERATE("16,,32", ",16", "16,", ",");
    CHECK_THROWS_MATCHES(parse({"--list", list.c_str()}), CLI::ParseError,
                         MessageMatches(ContainsSubstring("--list")));
    CHECK_THROWS_AS(parse({"--words", "a", list.c_str()}), CLI::ParseError);
    CHECK_THROWS_AS(parse({("--words=" + list).c_str()}), CLI::ParseError);
}

TEST_CASE("an empty value is refused", "[days]") {
    CHECK_THROWS_MATCHES(parse({"--folder", ""}), CLI::ParseError,
                         MessageMatches(ContainsSubstring("--folder: its value is empty")));
    CHECK_THROWS_AS(parse({""}), CLI::ParseError);
    CHECK_THROWS_AS(parse({"--list", ""}), CLI::ParseError);
}
