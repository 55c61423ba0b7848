// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// What the learner asked Day 21 to do.
#pragma once

#include <nanoserve/model/model_config.hpp>

#include <gpu_bench/read_cell.hpp>

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace nanoserve::day21 {

/// Exit statuses of the program.
enum ExitStatus : int {
    kFine = 0,
    kMeasurementFailed = 1,  ///< an output that is wrong, a GPU that failed
    kWrongUsage = 2,
    kFilesFailed = 3,  ///< a data file could not be read or written, or standard output not written
};

struct Options {
    std::vector<ModelConfig> models = {llama_3_2_1b(), llama_3_8b()};
    std::vector<std::int64_t> num_seqs = {1, 8, 64};
    std::vector<std::int64_t> histories = {16, 64, 256, 1024, 4096, 16384, 65536};  ///< tokens
    std::int32_t block_size = 16;                                                   ///< tokens
    std::size_t num_samples = 50;
    bool warm_up = false;  ///< only the small kernel that the page begins with
    bool check_only = false;
    /// Folder of the CSV and its sidecar; empty: nothing is written.
    std::filesystem::path data;

    /// All points of the sweep, in the order in which they are measured.
    [[nodiscard]] std::vector<gpu_bench::ReadCell> cells() const;
};

/// Why the program has nothing to do: --help was asked for (status kFine), or a flag is wrong.
struct Refusal {
    ExitStatus status = kFine;
    std::string text;  ///< the help, or one line with the flag, its value and its limit
};

/// Reads the command line.
[[nodiscard]] std::variant<Options, Refusal> parse_options(int argc, const char* const* argv);

/// The options as names and values, for the sidecar.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> to_pairs(const Options& options);

}  // namespace nanoserve::day21
