// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// The plans that Day 26 times beside the rule's own.
#include <catch2/catch_test_macros.hpp>
#include <day26_one_launch/cells.hpp>
#include <day26_one_launch/plans.hpp>

#include <algorithm>
#include <set>

using namespace nanoserve;
using namespace nanoserve::day26;

TEST_CASE("Day 26 names each plan that it times, once", "[days]") {
    std::set<std::string> names;
    for (const gpu_bench::DecodeRead& read : plan_reads()) {
        CHECK(names.insert(read.name).second);
    }
    CHECK(names.contains("paged_attention"));
    CHECK(names.contains("w8_h4_s2"));
    CHECK_FALSE(names.contains("w4_h8_s1"));  // a KV head without a warp
    CHECK(names.size() == 1 + 10 * 4);
}

TEST_CASE("Day 26 times the rule's own plan among the others, in every cell", "[days]") {
    for (const ReadCell& cell : plan_cells()) {
        CAPTURE(gpu_bench::label_of(cell));
        const PagedAttentionParams params = sizes_of(cell);
        DecodePlan rule = plan_of(params);
        rule.evict_first = false;
        std::vector<DecodePlan> timed = swept_plans();
        std::erase_if(timed,
                      [&](const auto& plan) { return reason_to_skip(params, plan).has_value(); });
        CHECK(std::ranges::find(timed, rule) != timed.end());
        CHECK(timed.size() >= 4);
    }
}

TEST_CASE("Day 26 skips plans that leave warps or multiprocessors without work", "[days]") {
    const auto reason = [](std::int64_t num_seqs, std::int64_t seq_len, DecodePlan plan) {
        return reason_to_skip(
                   sizes_of({.shape = {32, 8, 128}, .num_seqs = num_seqs, .seq_len = seq_len}),
                   plan)
            .value_or("none");
    };
    CHECK(reason(1, 256, {4, 1, 4}) == "none");
    CHECK(reason(1, 256, {8, 1, 4}) == "there are more warps than tiles");
    CHECK(reason(1, 4096, {8, 1, 1}) == "none");
    CHECK(reason(1, 4096, {8, 2, 1}) == "most SMs have nothing to read");
    CHECK(reason(256, 4096, {4, 2, 8}) == "none");
    CHECK(reason(256, 4096, {4, 1, 8}) == "there are too many thread blocks");
    PagedAttentionParams six_heads =
        sizes_of({.shape = {24, 6, 128}, .num_seqs = 64, .seq_len = 1024});
    CHECK(reason_to_skip(six_heads, {4, 4, 1}) == "the KV heads don't divide");
}
