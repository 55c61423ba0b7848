// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// check_cache [--walks N] [--steps M] [--seed S]: random walks of the cache beside a model, with
// every invariant looked at after every step. Walk i has the seed S + i. Exit status: 0 no fault; 1
// a fault.
#include "reliability/cache_walk.hpp"

#include <CLI/CLI.hpp>

#include <iostream>

using namespace nanoserve::testing;

int main(int argc, char** argv) {
    std::uint32_t num_walks = 40;
    std::uint32_t num_steps = 300;
    std::uint32_t seed = 1;
    CLI::App app("Random walks of the cache beside a model.");
    app.add_option("--walks", num_walks, "how many")->check(CLI::PositiveNumber);
    app.add_option("--steps", num_steps, "of each walk")->check(CLI::PositiveNumber);
    app.add_option("--seed", seed, "of the first walk");
    CLI11_PARSE(app, argc, argv);
    std::int64_t num_refused = 0;
    std::int64_t num_failed_allocations = 0;
    for (std::uint32_t i = 0; i < num_walks; ++i) {
        const WalkSpec spec = random_walk_spec(seed + i);
        CacheWalk walk(spec);
        for (std::uint32_t step = 0; step <= num_steps; ++step) {
            if (const auto fault = step < num_steps ? walk.step() : walk.finish()) {
                std::cout << to_string(spec) << "\nstep " << step << ": " << *fault
                          << "\nagain: check_cache --walks 1 --seed " << spec.seed << " --steps "
                          << num_steps << '\n';
                return 1;
            }
        }
        num_refused += walk.num_refused();
        num_failed_allocations += walk.num_failed_allocations();
    }
    std::cout << "check_cache: " << num_walks << " walks of " << num_steps << " steps from seed "
              << seed << ", " << num_refused << " writes refused, " << num_failed_allocations
              << " allocations failed, no fault\n";
}
