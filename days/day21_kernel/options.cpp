// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include "options.hpp"

#include <nanoserve/model/require.hpp>
#include <nanoserve/report/one_line.hpp>

#include <command_line/parse.hpp>
#include <fmt/core.h>
#include <fmt/ranges.h>
#include <gpu_bench/command_line.hpp>

#include <algorithm>
#include <stdexcept>
#include <system_error>

namespace nanoserve::day21 {
namespace {

constexpr const char* kDescription =
    "Day 21: times the first CUDA kernel of the course beside the gather baseline and the "
    "ceilings, "
    "over shapes,\n"
    "batches and histories: bf16, cold, CUDA-graph replay. Prints the prediction, what was "
    "measured, "
    "and how far\n"
    "apart they are. Without a GPU it runs the kernel's CPU twin and shows the recorded results.";

std::vector<std::string> names_of(const std::vector<ModelConfig>& models) {
    std::vector<std::string> names;
    for (const ModelConfig& model : models) {
        names.push_back(model.name);
    }
    return names;
}

void sort_unique(std::vector<std::int64_t>& values) {
    std::ranges::sort(values);
    values.erase(std::unique(values.begin(), values.end()), values.end());
}

// In the order of the names, each once: a sidecar has one place for the facts of a shape.
std::vector<ModelConfig> models_of(const std::vector<std::string>& names) {
    std::vector<ModelConfig> models;
    for (const std::string& name : names) {
        if (std::ranges::find(models, name, &ModelConfig::name) == models.end()) {
            models.push_back(find_model(name));
        }
    }
    return models;
}

void add_flags(CLI::App& app, Options& options, std::vector<std::string>& shapes) {
    const auto with_default = [&app](const char* name, auto& value, const char* text) {
        return app.add_option(name, value, text)->capture_default_str();
    };
    with_default("--shapes", shapes, "models whose heads are read")
        ->delimiter(',')
        ->check(CLI::IsMember(names_of(known_models())));
    with_default("--num-seqs", options.num_seqs, "sequences in the batch")
        ->delimiter(',')
        ->check(CLI::Range(std::int64_t{1}, std::int64_t{65535}));
    with_default("--histories", options.histories, "cached tokens of each sequence")
        ->delimiter(',')
        ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 20));
    with_default("--samples", options.num_samples, "samples of each read, a graph replay each")
        ->check(CLI::Range(6, 100000));
    app.add_flag("--warm-up", options.warm_up,
                 "run the small kernel that the day's page begins with, and nothing else");
    app.add_flag("--check", options.check_only,
                 "compare the outputs with the float64 oracle and time nothing");
    app.add_option("--data", options.data,
                   "folder that gets the CSV and its sidecar (default: none is written)");
}

}  // namespace

std::vector<gpu_bench::ReadCell> Options::cells() const {
    std::vector<gpu_bench::ReadCell> cells;
    for (const ModelConfig& model : models) {
        for (const std::int64_t batch : num_seqs) {
            for (const std::int64_t seq_len : histories) {
                cells.push_back({.shape = model.attention,
                                 .num_seqs = batch,
                                 .seq_len = seq_len,
                                 .block_size = block_size});
            }
        }
    }
    return cells;
}

std::variant<Options, Refusal> parse_options(int argc, const char* const* argv) {
    CLI::App app{kDescription, "day21_kernel"};
    app.footer(gpu_bench::kExitStatuses);
    try {
        Options options;
        std::vector<std::string> shapes = names_of(options.models);
        add_flags(app, options, shapes);
        days::parse(app, argc, argv);
        options.models = models_of(shapes);
        sort_unique(options.num_seqs);
        sort_unique(options.histories);
        if (std::error_code ignored;
            !options.data.empty() && !std::filesystem::is_directory(options.data, ignored)) {
            return Refusal{kWrongUsage,
                           report::one_line(fmt::format("--data: there is no folder {}",
                                                        options.data.string()))};
        }
        return options;
    } catch (const CLI::CallForHelp&) {
        return Refusal{kFine, app.help()};
    } catch (const CLI::ParseError& error) {
        return Refusal{kWrongUsage, report::one_line(error.what())};
    }
}

std::vector<std::pair<std::string, std::string>> to_pairs(const Options& options) {
    return {{"shapes", fmt::format("{}", fmt::join(names_of(options.models), ","))},
            {"num_seqs", fmt::format("{}", fmt::join(options.num_seqs, ","))},
            {"histories", fmt::format("{}", fmt::join(options.histories, ","))},
            {"block_size", fmt::format("{}", options.block_size)},
            {"dtype", "bf16"},
            {"samples", fmt::format("{}", options.num_samples)}};
}

}  // namespace nanoserve::day21
