// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// check_reads [--cases N] [--seed S]: random reads against the oracle, over every path of this
// program. Case i has the seed S + i, so that one failing case runs again alone.
// Exit status: 0 no fault; 1 a fault; 4 nothing here can run the paths.
#include "reliability/read_case.hpp"

#include <CLI/CLI.hpp>

#include <iostream>

int main(int argc, char** argv) {
    std::uint32_t num_cases = 300;
    std::uint32_t seed = 1;
    CLI::App app("Random reads against the oracle.");
    app.add_option("--cases", num_cases, "how many")->check(CLI::PositiveNumber);
    app.add_option("--seed", seed, "of the first case");
    CLI11_PARSE(app, argc, argv);
    if (const auto reason = nanoserve::testing::reason_for_no_paths()) {
        std::cout << *reason << '\n';
        return 4;
    }
    const auto paths = nanoserve::testing::read_paths();
    for (std::uint32_t i = 0; i < num_cases; ++i) {
        if (const auto fault = nanoserve::testing::fault_of_read_case(seed + i, paths)) {
            std::cout << *fault << "\nagain: check_reads --cases 1 --seed " << seed + i << '\n';
            return 1;
        }
    }
    std::cout << "check_reads: " << num_cases << " cases from seed " << seed << ", " << paths.size()
              << " paths, no fault\n";
}
