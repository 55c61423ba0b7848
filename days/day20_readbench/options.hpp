// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// What the learner asked Day 20 to do.
#pragma once

#include <nanoserve/attention/instruction_set.hpp>
#include <nanoserve/model/dtype.hpp>
#include <nanoserve/model/model_config.hpp>

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace nanoserve::day20 {

/// Exit statuses of the program.
enum ExitStatus : int {
    kFine = 0,
    kMeasurementFailed = 1,  ///< reads that differ, a read below its floor, a pool that ran out
    kWrongUsage = 2,
    kFilesFailed = 3,  ///< a data file could not be read or written, or standard output not written
    kPlotFailed = 4,   ///< gnuplot is missing or failed; the CSV is kept
};

enum class CacheState { warm, cold };

struct Options {
    std::vector<std::int64_t> histories = {16, 64, 256, 1024, 4096};  ///< tokens, ascending
    bool histories_given = false;
    std::vector<std::string> reads = {"gather",
                                      "fused"};  ///< the first is what the others are compared with
    ModelConfig model = llama_3_2_1b();
    std::int32_t block_size = 16;  ///< tokens
    DType dtype = DType::fp32;
    std::size_t num_samples = 400;
    int num_threads = 1;
    CacheState cache = CacheState::warm;
    InstructionSet instruction_set = default_instruction_set();
    std::vector<std::uint32_t> seeds = {0};
    int num_repeats = 1;
    bool time_the_step = false;
    std::filesystem::path data;   ///< folder of the CSV and its sidecar
    std::filesystem::path plots;  ///< folder of the pictures
    std::string name;             ///< of the files, when they are not to be Day 20's own

    [[nodiscard]] std::uint32_t seed() const { return seeds.front(); }
    [[nodiscard]] std::filesystem::path csv() const {
        return data / ((name.empty() ? "day-20-readbench" : name) + ".csv");
    }
    [[nodiscard]] std::filesystem::path plot_stem() const {
        return plots / (name.empty() ? "paged-read-benchmark" : name);
    }
};

[[nodiscard]] const char* to_string(CacheState cache);

/// Why the program has nothing to do: --help was asked for (status kFine), or a flag is wrong.
struct Refusal {
    ExitStatus status = kFine;
    std::string text;  ///< the help, or one line with the flag, its value and its limit
};

/// Reads the command line.
[[nodiscard]] std::variant<Options, Refusal> parse_options(int argc, const char* const* argv);

/// Reads that of day20_plot, which takes the names of files alone.
[[nodiscard]] std::variant<Options, Refusal> parse_plot_options(int argc, const char* const* argv);

/// The options as names and values, for the sidecar.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> to_pairs(const Options& options);

}  // namespace nanoserve::day20
