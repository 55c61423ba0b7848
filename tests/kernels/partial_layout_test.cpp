// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <kernels/decode/partial_layout.hpp>

#include <set>

using namespace nanoserve;

TEST_CASE("entries are counted once each, those of the heads that exist", "[kernels][decode]") {
    const auto [group_size, num_pairs] =
        GENERATE(std::pair{1u, 2u}, std::pair{4u, 2u}, std::pair{5u, 4u}, std::pair{16u, 4u});
    const LiveEntries entries = {LiveEntries::pairs_log2_of(static_cast<int>(group_size))};
    constexpr unsigned kNumFragments = 6;
    REQUIRE(entries.count(kNumFragments) == kNumFragments * 8 * num_pairs);
    REQUIRE(entries.bytes() == (8 * num_pairs + num_pairs) * 16);

    std::set<std::pair<unsigned, unsigned>> seen;
    for (unsigned i = 0; i < entries.count(kNumFragments); ++i) {
        const FragmentEntry at = entries[i];
        REQUIRE(at.fragment < kNumFragments);
        REQUIRE(at.row() < 8);
        REQUIRE(at.pair() < num_pairs);
        REQUIRE(seen.emplace(at.fragment, at.lane).second);
    }
}

TEST_CASE("entries and scales of a fragment set share no byte", "[kernels][decode]") {
    using Set = FragmentSet<4>;
    std::set<unsigned> offsets;
    for (unsigned fragment = 0; fragment < 4; ++fragment) {
        for (unsigned lane = 0; lane < 32; ++lane) {
            offsets.insert(Set::entry(fragment, lane));
        }
    }
    for (unsigned pair = 0; pair < 4; ++pair) {
        offsets.insert(Set::scale(pair));
    }
    REQUIRE(offsets.size() == 4 * 32 + 4);
    for (const unsigned offset : offsets) {
        REQUIRE(offset % 16 == 0);
        REQUIRE(offset + 16 <= static_cast<unsigned>(Set::kBytes));
    }
}
