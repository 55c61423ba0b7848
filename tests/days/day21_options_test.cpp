// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// Day 21's command line: what is refused, and in which words.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <options.hpp>

#include <string>
#include <vector>

using namespace nanoserve::day21;
using Catch::Matchers::ContainsSubstring;

namespace {

std::variant<Options, Refusal> parse(std::vector<const char*> arguments) {
    arguments.insert(arguments.begin(), "day21_kernel");
    return parse_options(static_cast<int>(arguments.size()), arguments.data());
}

void refused(const std::vector<const char*>& arguments, const std::string& text) {
    const auto parsed = parse(arguments);
    REQUIRE(std::holds_alternative<Refusal>(parsed));
    CHECK(std::get<Refusal>(parsed).status == kWrongUsage);
    CHECK_THAT(std::get<Refusal>(parsed).text, ContainsSubstring(text));
    CHECK_THAT(std::get<Refusal>(parsed).text, !ContainsSubstring("\n"));
}

}  // namespace

TEST_CASE("Day 21 measures each shape, batch and history once, however often it is named",
          "[days]") {
    const auto options =
        std::get<Options>(parse({"--shapes", "llama-3-8b,llama-3.2-1b,llama-3-8b", "--num-seqs",
                                 "8,1,8", "--histories", "64,16,64"}));
    REQUIRE(options.models.size() == 2);
    CHECK(options.models[0].name == "llama-3-8b");
    CHECK(options.num_seqs == std::vector<std::int64_t>{1, 8});
    CHECK(options.histories == std::vector<std::int64_t>{16, 64});
}

TEST_CASE("Day 21 refuses a wrong flag in one line with its limit", "[days]") {
    refused({"--samples", "5"}, "--samples: Value 5 not in range 6 to 100000");
    refused({"--histories", "0"}, "--histories: Value 0 not in range 1 to 1048576");
    refused({"--num-seqs", "65536"}, "--num-seqs: Value 65536 not in range 1 to 65535");
    refused({"--num-seqs", "99999999999999999999"}, "--num-seqs");
    refused({"--shapes", "gpt"}, "--shapes: gpt not in {llama-3.2-1b,llama-3-8b}");
    refused({"--num-seqs", "1,,8"}, "--num-seqs: \"1,,8\" has an item that is empty");
    refused({"--histories", "0x10"}, "--histories: Value 0x10 is no number in decimal digits");
    refused({"--data", ""}, "--data: its value is empty");
    refused({"--bogus"}, "--bogus");
}

TEST_CASE("Day 21 refuses a data folder that isn't there, or can't be looked up", "[days]") {
    refused({"--data", "nowhere"}, "--data: there is no folder nowhere");
    refused({"--data", "of\ntwo lines"}, "--data: there is no folder of two lines");
    const std::string too_long(5000, 'x');
    refused({"--data", too_long.c_str()}, "--data: there is no folder xxx");
}
