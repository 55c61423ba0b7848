// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <nanoserve/attention/detail/thread_team.hpp>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <stdexcept>
#include <vector>

using nanoserve::detail::share_of;
using nanoserve::detail::ThreadTeam;

TEST_CASE("a team calls the task once on each thread, round after round", "[attention]") {
    const int num_threads = GENERATE(1, 2, 5);
    ThreadTeam team(num_threads);
    CHECK(team.num_threads() == num_threads);
    std::vector<int> calls(static_cast<std::size_t>(num_threads),
                           0);  // no atomics: tsan proves the hand-over
    for (int round = 0; round < 500; ++round) {
        team.run([&](int index) { ++calls[static_cast<std::size_t>(index)]; });
    }
    CHECK(calls == std::vector<int>(static_cast<std::size_t>(num_threads), 500));
}

TEST_CASE("a team that never ran can be destroyed", "[attention]") {
    ThreadTeam team(4);
}

TEST_CASE("shares cover all items once, in order", "[attention]") {
    for (const std::int64_t count : {0, 1, 2, 8, 9}) {
        std::int64_t next = 0;
        for (int index = 0; index < 4; ++index) {
            const auto share = share_of(count, index, 4);
            CHECK(share.begin == next);
            CHECK(share.end >= share.begin);
            next = share.end;
        }
        CHECK(next == count);
    }
}

TEST_CASE("what a task throws reaches the caller after all threads are done", "[attention]") {
    const int thrower = GENERATE(0, 2);
    ThreadTeam team(3);
    std::vector<int> calls(3, 0);
    const auto task = [&](int index) {
        ++calls[static_cast<std::size_t>(index)];
        if (index == thrower) {
            throw std::runtime_error("no memory");
        }
    };
    CHECK_THROWS_AS(team.run(task), std::runtime_error);
    CHECK(calls == std::vector<int>(3, 1));
    team.run([&](int index) { ++calls[static_cast<std::size_t>(index)]; });  // and the team goes on
    CHECK(calls == std::vector<int>(3, 2));
}
