// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <nanoserve/report/plot/plot_share.hpp>
#include <nanoserve/report/plot/share_picture.hpp>
#include <nanoserve/report/plot/share_script.hpp>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <report/comma_locale.hpp>
#include <report/sample_rows.hpp>
#include <report/temporary_folder.hpp>

#include <cstdlib>
#include <string>
#include <vector>

using namespace nanoserve::report;
using namespace nanoserve::report::testing;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::MessageMatches;

namespace {

void append_shares(std::vector<ReadRow>& rows, const std::string& read, std::int64_t num_seqs,
                   const std::vector<double>& best_us, double floor_us) {
    const std::size_t first = rows.size();
    append_read(rows, read, best_us);
    for (ReadRow& row : std::span(rows).subspan(first)) {
        row.num_seqs = num_seqs;
        row.floor_us = floor_us;
    }
}

std::vector<ReadRow> gpu_rows() {
    std::vector<ReadRow> rows;
    append_shares(rows, "kernel", 1, {4, 10, 40, 160}, 2);
    append_shares(rows, "kernel", 64, {10, 20, 40, 160}, 4);
    append_shares(rows, "gather", 1, {7, 14, 80, 320}, 2);
    for (ReadRow& row : rows) {
        row.machine = "NVIDIA H200";
        row.dtype = "bf16";
        row.threads.reset();
        row.cache = "cold";
    }
    return rows;
}

std::vector<ReadRow> own_rows() {
    std::vector<ReadRow> rows;
    append_shares(rows, "streaming", 1, {4, 8, 16}, 4);
    append_read(rows, "read_floor", {4, 4, 4});
    return rows;
}

}  // namespace

TEST_CASE("each batch of the kernel and the own read has a curve of shares", "[report][pure]") {
    const SharePicture picture = share_picture(gpu_rows(), own_rows(), {"a", "b"});
    REQUIRE(picture.curves.size() == 4);
    CHECK(picture.curves[0].name == "the limit");
    CHECK(picture.curves[1].name == "GPU kernel, 1 sequence");
    CHECK(picture.curves[2].name == "GPU kernel, 64 sequences");
    CHECK(picture.curves[3].name == "own streaming read");
    REQUIRE(picture.curves[1].points.size() == 4);
    CHECK(picture.curves[1].points[0].percent == 50);
    CHECK(picture.curves[3].points.back().seq_len == 256);
    CHECK(picture.curves[3].points.back().percent == 25);
    CHECK(picture.names[3].text == "own streaming read 25.0 %");
}

TEST_CASE("the title compares on the longest history that both have read", "[report][pure]") {
    CHECK(share_picture(gpu_rows(), own_rows(), {}).heading.title ==
          "At 256 tokens the kernel is at 10.0 % of its ceiling with 64 sequences, this machine's "
          "streaming read at 25.0 % of its own");
}

TEST_CASE("shares that cannot be drawn are refused with the reason", "[report][pure]") {
    CHECK_THROWS_MATCHES(share_picture(gpu_rows(), {}, {}), std::invalid_argument,
                         MessageMatches(ContainsSubstring("no row of the read \"streaming\"")));
    std::vector<ReadRow> other = own_rows();
    for (ReadRow& row : other) {
        row.head_dim = 128;
    }
    CHECK_THROWS_MATCHES(
        share_picture(gpu_rows(), other, {}), std::invalid_argument,
        MessageMatches(ContainsSubstring("no row of the read \"kernel\" for 32/8/128")));
    std::vector<ReadRow> longer = own_rows();
    for (ReadRow& row : longer) {
        row.seq_len *= 100;
    }
    CHECK_THROWS_MATCHES(share_picture(gpu_rows(), longer, {}), std::invalid_argument,
                         MessageMatches(ContainsSubstring("no history in common")));
}

TEST_CASE("the script of the shares is the same in every locale", "[report][pure]") {
    const auto script = [] {
        return share_script(share_picture(gpu_rows(), own_rows(), {"it's"}));
    };
    const std::string expected = script();
    CHECK_THAT(expected, ContainsSubstring("$CURVE3 << EOD") && ContainsSubstring("64 50\n") &&
                             ContainsSubstring("it''s"));
    const CommaLocale commas;
    CHECK(script() == expected);
}

TEST_CASE("gnuplot draws the shares", "[report][pure]") {
    if (std::system("gnuplot --version > /dev/null 2>&1") != 0) {
        SKIP("needs gnuplot");
    }
    const TemporaryFolder folder;
    plot_share(gpu_rows(), own_rows(), folder.path() / "shares", {"a", "b"});
    CHECK(folder.names() == std::vector<std::string>{"shares.png", "shares.svg"});
}
