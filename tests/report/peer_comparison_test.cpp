// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <nanoserve/report/file_error.hpp>
#include <nanoserve/report/peer_comparison.hpp>
#include <nanoserve/report/peer_row.hpp>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <report/sample_peers.hpp>
#include <report/sample_rows.hpp>

#include <cmath>
#include <string>
#include <vector>

using namespace nanoserve::report;
using namespace nanoserve::report::testing;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::MessageMatches;
using Catch::Matchers::WithinRel;

namespace {

constexpr const char* kHeader =
    "num_q_heads,num_kv_heads,head_dim,kv_dtype,num_seqs,seq_len,ragged,peer,best_us,median_us,"
    "gb_per_s,rel_err\n";

}  // namespace

TEST_CASE("peers are read from their file, and the lines that name its source are not",
          "[report][pure]") {
    const auto rows = parse_peers(std::string("# measured by somebody, on a card\n") + kHeader +
                                  "32,8,64,bf16,8,1024,1,fa3,2.06,2.09,16,1.7e-03\n");
    REQUIRE(rows.size() == 1);
    CHECK(rows[0] == PeerRow{32, 8, 64, "bf16", 8, 1024, true, "fa3", 2.06, 2.09});
}

TEST_CASE("a line that is no peer's is named", "[report][pure]") {
    const auto [line, message] = GENERATE(table<std::string, std::string>(
        {{"32,8,64\n", "line 2: 3 fields instead of 12"},
         {"32,8,64,bf16,8,x,1,fa3,2,2,16,0\n",
          "line 2, column seq_len: \"x\" is not a whole number"},
         {"32,8,64,bf16,8,16,1,fa3,?,2,16,0\n",
          "line 2, column best_us: \"?\" is not a finite number"}}));
    CHECK_THROWS_MATCHES(parse_peers(kHeader + line), FileError,
                         MessageMatches(ContainsSubstring(message)));
    CHECK_THROWS_MATCHES(parse_peers("# nothing\n"), FileError,
                         MessageMatches(ContainsSubstring("header")));
    CHECK_THROWS_MATCHES(parse_peers("a,b\n"), FileError,
                         MessageMatches(ContainsSubstring("fields")));
}

TEST_CASE("a cell is compared through the ceilings of both runs", "[report][pure]") {
    const std::vector<PeerRow> peers = {
        peer_row("fa3", 64, 8, 16, 6.0), peer_row("flashinfer", 64, 8, 16, 3.0),
        peer_row("load_only_nhd", 64, 8, 16, 2.0), peer_row("load_only_hnd", 64, 8, 16, 1.0)};
    const std::vector<ReadRow> rows = {our_row("mine", 64, 8, 16, 2.0, 1.0),
                                       our_row("other", 64, 8, 16, 9.0, 1.0),
                                       our_row("mine", 64, 8, 64, 2.0, 1.0)};
    const auto cells = compare_with_peers(rows, "mine", peers);
    REQUIRE(cells.size() == 1);  // the peers have no cell of 64 tokens
    CHECK(cells[0].our_times == 2.0);
    REQUIRE(cells[0].peers.size() == 2);
    CHECK(cells[0].peers[0].peer == "flashinfer");
    CHECK(cells[0].peers[0].times == 1.5);
    CHECK(cells[0].speedup() == 0.75);
    CHECK(cells[0].direct_speedup() == 1.5);
}

TEST_CASE("the ruler is the load-only read that the peers' file has", "[report][pure]") {
    const std::vector<PeerRow> peers = {peer_row("fa3", 64, 8, 16, 6.0),
                                        peer_row("load_only_nhd", 64, 8, 16, 2.0)};
    std::vector<ReadRow> rows = {our_row("mine", 64, 8, 16, 3.0, 1.0),
                                 our_row("load_only_by_head", 64, 8, 32, 0.5, 1.0),
                                 our_row("load_only_by_head", 64, 8, 16, 1.5, 1.0)};
    const auto cells = compare_with_peers(rows, "mine", peers);
    REQUIRE(cells.size() == 1);
    CHECK(cells[0].our_times == 2.0);
    CHECK(cells[0].our_times_nhd == 3.0);
    CHECK(cells[0].speedup() == 1.5);
    CHECK(cells[0].speedup_nhd() == 1.0);
    const auto claims = claims_of(cells);
    CHECK_THAT(claims[0].mean_speedup, WithinRel(1.5, 1e-12));
    CHECK_THAT(claims[0].mean_speedup_nhd, WithinRel(1.0, 1e-12));
    CHECK_THAT(claims[0].mean_times_ceiling, WithinRel(3.0, 1e-12));
    rows[2].best_us = 0.0;  // no time
    CHECK(compare_with_peers(rows, "mine", peers)[0].our_times == 3.0);
}

TEST_CASE("ragged cells, other types and cells without a ceiling are kept apart",
          "[report][pure]") {
    std::vector<PeerRow> peers = {peer_row("fa3", 64, 8, 16, 6.0),
                                  peer_row("load_only_nhd", 64, 8, 16, 2.0)};
    std::vector<ReadRow> rows = {our_row("mine", 64, 8, 16, 2.0, 1.0)};
    CHECK(compare_with_peers(rows, "mine", peers).size() == 1);
    rows[0].pattern = "ragged";
    CHECK(compare_with_peers(rows, "mine", peers).empty());
    rows[0].pattern = "uniform";
    rows[0].dtype = "fp16";
    CHECK(compare_with_peers(rows, "mine", peers).empty());
    rows[0].dtype = "bf16";
    rows[0].floor_us.reset();
    CHECK(compare_with_peers(rows, "mine", peers).empty());
    rows[0].floor_us = 1.0;
    peers.pop_back();
    CHECK(compare_with_peers(rows, "mine", peers).empty());
}

TEST_CASE("a time that can't be one is not compared", "[report][pure]") {
    const double no_time = GENERATE(0.0, -1.0, 1e300);
    const std::vector<PeerRow> peers = {peer_row("fa3", 64, 8, 16, 6.0),
                                        peer_row("load_only_nhd", 64, 8, 16, 2.0)};
    const std::vector<ReadRow> ours = {our_row("mine", 64, 8, 16, 2.0, 1.0)};
    REQUIRE(compare_with_peers(ours, "mine", peers).size() == 1);
    for (const std::size_t i : {0u, 1u}) {
        std::vector<PeerRow> changed = peers;
        changed[i].best_us = no_time;
        CHECK(compare_with_peers(ours, "mine", changed).empty());
    }
    std::vector<ReadRow> changed = ours;
    changed[0].best_us = no_time;
    CHECK(compare_with_peers(changed, "mine", peers).empty());
    changed = ours;
    changed[0].floor_us = no_time;
    CHECK(compare_with_peers(changed, "mine", peers).empty());
}

TEST_CASE("two per cent either way are no difference", "[report][pure]") {
    const auto [ours, is_level, is_lost] =
        GENERATE(table<double, bool, bool>({{1.0, true, false},
                                            {1.015, true, false},
                                            {0.985, true, false},
                                            {1.03, false, true},
                                            {0.97, false, false}}));
    const std::vector<PeerRow> peers = {peer_row("fa3", 64, 8, 16, 2.0),
                                        peer_row("load_only_nhd", 64, 8, 16, 2.0)};
    const std::vector<ReadRow> rows = {our_row("mine", 64, 8, 16, ours, 1.0)};
    const auto cells = compare_with_peers(rows, "mine", peers);
    CHECK(cells[0].is_level() == is_level);
    CHECK(cells[0].is_lost() == is_lost);
    const auto claims = claims_of(cells);
    CHECK(claims[0].num_level == (is_level ? 1 : 0));
    CHECK(claims[0].lost.size() == (is_lost ? 1 : 0));
}

TEST_CASE("peers without a ceiling are compared by their times", "[report][pure]") {
    const std::vector<PeerRow> peers = {
        peer_row("fa3", 64, 8, 16, 6.0), peer_row("flashinfer", 64, 8, 16, 4.0),
        peer_row("fa3", 64, 8, 64, 2.0), peer_row("fa3", 128, 8, 64, 3.0),
        peer_row("fa3", 128, 8, 16, 0.0)};
    const std::vector<ReadRow> rows = {
        our_row("mine", 128, 8, 64, 1.0, 1.0), our_row("mine", 64, 8, 16, 1.0, 1.0),
        our_row("mine", 64, 8, 64, 2.0, 1.0),  our_row("mine", 128, 8, 16, 1.0, 1.0),
        our_row("other", 64, 8, 16, 9.0, 1.0), our_row("mine", 64, 8, 32, 1.0, 1.0)};
    const auto claims = direct_claims(rows, "mine", peers);
    REQUIRE(claims.size() == 2);
    CHECK(claims[0].head_dim == 64);
    CHECK(claims[0].num_cells == 2);
    CHECK_THAT(claims[0].mean_speedup, WithinRel(2.0, 1e-12));
    CHECK(claims[0].least_speedup == 1.0);
    CHECK(claims[1].num_cells == 1);
    CHECK(direct_claims({}, "mine", peers).empty());
}

TEST_CASE("where fp8 has no ceiling, the one of bf16 on the same cells tells the two runs apart",
          "[report][pure]") {
    std::vector<PeerRow> peers = {
        peer_row("flashinfer", 64, 8, 16, 4.0), peer_row("load_only_nhd", 64, 8, 16, 2.0),
        peer_row("flashinfer", 64, 8, 64, 8.0), peer_row("load_only_nhd", 64, 8, 64, 4.0)};
    peers[0].kv_dtype = peers[2].kv_dtype = "fp8_e4m3";
    std::vector<ReadRow> rows = {our_row("mine", 64, 8, 16, 2.0, 1.0),
                                 our_row("mine", 64, 8, 64, 2.0, 1.0)};
    rows[0].dtype = rows[1].dtype = "fp8_e4m3";
    // Our card is slower by half in the one cell and as fast in the other.
    std::vector<ReadRow> bf16 = {our_row("load_only_by_head", 64, 8, 16, 3.0, 1.0),
                                 our_row("load_only_by_head", 64, 8, 64, 4.0, 1.0)};
    auto claims = direct_claims(rows, "mine", peers, bf16);
    REQUIRE(claims.size() == 1);
    CHECK_THAT(claims[0].mean_speedup, WithinRel(std::sqrt(2.0 * 4.0), 1e-12));
    CHECK_THAT(claims[0].mean_ruled_speedup.value(), WithinRel(std::sqrt(3.0 * 4.0), 1e-12));
    bf16.pop_back();  // a cell without a ruler: no claim through it
    CHECK(!direct_claims(rows, "mine", peers, bf16)[0].mean_ruled_speedup);
    CHECK(!direct_claims(rows, "mine", peers)[0].mean_ruled_speedup);
}

TEST_CASE("claims are geometric means for each head_dim, and the lost cells by name",
          "[report][pure]") {
    std::vector<PeerRow> peers;
    std::vector<ReadRow> rows;
    const auto add = [&](std::int64_t head_dim, std::int64_t seq_len, double ours, double peer) {
        peers.push_back(peer_row("fa3", head_dim, 8, seq_len, 2 * peer));
        peers.push_back(peer_row("load_only_nhd", head_dim, 8, seq_len, 2.0));
        rows.push_back(our_row("mine", head_dim, 8, seq_len, ours, 1.0));
    };
    add(128, 16, 1.25, 5.0);  // 4 times as fast
    add(64, 16, 1.0, 8.0);    // 8 times
    add(64, 64, 4.0, 2.0);    // half
    const auto claims = claims_of(compare_with_peers(rows, "mine", peers));
    REQUIRE(claims.size() == 2);
    CHECK(claims[0].head_dim == 64);
    CHECK(claims[0].num_cells == 2);
    CHECK_THAT(claims[0].mean_speedup, WithinRel(2.0, 1e-12));
    CHECK_THAT(claims[0].mean_direct_speedup, WithinRel(4.0, 1e-12));
    CHECK(claims[0].least_speedup == 0.5);
    CHECK_THAT(claims[0].mean_times_ceiling, WithinRel(2.0, 1e-12));
    CHECK(claims[0].largest_times_ceiling == 4.0);
    REQUIRE(claims[0].lost.size() == 1);
    CHECK(claims[0].lost[0].seq_len == 64);
    CHECK(claims[1].lost.empty());
    const std::string text = format_claims(claims);
    CHECK_THAT(text, ContainsSubstring("head_dim 64, 2 cells: 2.00 times as fast") &&
                         ContainsSubstring("1 cell lost") &&
                         ContainsSubstring("lost: 8 sequences of 64 tokens: 4.00 times its "
                                           "ceiling, fa3 2.00 times") &&
                         ContainsSubstring("0 cells lost"));
    CHECK(claims_of({}).empty());
}
