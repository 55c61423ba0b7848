// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include "options.hpp"

#include <nanoserve/model/require.hpp>
#include <nanoserve/report/one_line.hpp>

#include <command_line/parse.hpp>
#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <stdexcept>

namespace nanoserve::day20 {
namespace {

constexpr const char* kDescription =
    "Day 20: times the gather and the fused read of a paged KV cache over a sweep of histories, "
    "and writes\n"
    "data/day-20-readbench.csv, its sidecar and plots/paged-read-benchmark.png and .svg.";

constexpr const char* kFooter =
    "Gotchas, as runnable facts (they write no file):\n"
    "  --time-the-step     time the write together with the read: the history grows, the pool runs "
    "out\n"
    "  --seed 0,1,2,3      other values and other blocks, the same cost\n"
    "  --repeat 10         how far the best and the median wander from repeat to repeat\n\n"
    "Exit status: 0 fine; 1 the measurement failed; 2 wrong usage; 3 a data file or standard "
    "output\n"
    "could not be written; 4 the picture could not be drawn (the CSV is kept). A run that is "
    "interrupted (a\n"
    "shell then says 130 or 143) leaves files of the run before it as they were: all of them while "
    "it\n"
    "measures, both pictures while it draws.";

constexpr const char* kPlotDescription =
    "Draws the pictures of Day 20, paged-read-benchmark.png and .svg, from data/; times nothing.";

constexpr const char* kPlotFooter =
    "Exit status: 0 fine; 2 wrong usage; 3 a data file could not be read, or standard output not "
    "written; 4 the\npicture could not be drawn. A run that is interrupted leaves both pictures as "
    "they were.";

// Flags as text, checked by CLI11; to_options turns them into what the program uses.
struct Flags {
    std::string model = "llama-3.2-1b";
    std::string dtype = "fp32";
    std::string cache = "warm";
    std::string instruction_set{nanoserve::to_string(default_instruction_set())};
};

std::vector<std::string> model_names() {
    std::vector<std::string> names;
    for (const ModelConfig& model : known_models()) {
        names.push_back(model.name);
    }
    return names;
}

std::vector<std::string> instruction_set_names() {
    std::vector<std::string> names;
    for (const InstructionSet set : available_instruction_sets()) {
        names.emplace_back(nanoserve::to_string(set));
    }
    return names;
}

void add_file_flags(CLI::App& app, Options& options) {
    options.data = std::filesystem::path(NANOSERVE_ROOT) / "data";
    options.plots = std::filesystem::path(NANOSERVE_ROOT) / "plots";
    app.add_option("--data", options.data,
                   "folder of the CSV and its sidecar (default: the repository's data)");
    app.add_option("--plots", options.plots,
                   "folder of the pictures (default: the repository's plots)");
    app.add_option("--name", options.name,
                   "name of the CSV, the sidecar and the pictures (default: Day 20's own)")
        ->check([](const std::string& name) {
            const bool plain =
                !name.empty() && name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-") ==
                                     std::string::npos;
            return plain ? std::string()
                         : "\"" + name + "\" may hold lower-case letters, digits and - only";
        });
}

void add_flags(CLI::App& app, Options& options, Flags& flags) {
    const auto with_default = [&app](const char* name, auto& value, const char* text) {
        return app.add_option(name, value, text)->capture_default_str();
    };
    with_default("--histories", options.histories, "cached tokens, one list")
        ->delimiter(',')
        ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 20));
    with_default("--reads", options.reads, "curves; the first is what the others are compared with")
        ->delimiter(',')
        ->check(CLI::IsMember({"gather", "fused", "streaming"}));
    with_default("--samples", options.num_samples, "samples of each read")
        ->check(CLI::Range(6, 1000000));
    with_default("--block-size", options.block_size, "tokens in one block")
        ->check(CLI::Range(1, 65536));
    with_default("--model", flags.model, "whose heads")->check(CLI::IsMember(model_names()));
    with_default("--dtype", flags.dtype, "element type of the pool")
        ->check(CLI::IsMember({"fp32", "fp16", "bf16", "fp8_e4m3"}));
    with_default("--threads", options.num_threads, "threads of each read")
        ->check(CLI::Range(1, 1024));
    with_default("--cache", flags.cache,
                 "warm: one history again and again; cold: a pool of 256 MiB, rotated")
        ->check(CLI::IsMember({"warm", "cold"}));
    with_default("--instruction-set", flags.instruction_set,
                 "compilation that run-time dispatch picks")
        ->check(CLI::IsMember(instruction_set_names()));
    with_default("--seed", options.seeds, "of values and block order; several: compare them")
        ->delimiter(',')
        ->check(CLI::Range(std::int64_t{0}, std::int64_t{4294967295}));
    with_default("--repeat", options.num_repeats,
                 "measure one read so many times, with the first seed")
        ->check(CLI::Range(1, 1000));
    app.add_flag("--time-the-step", options.time_the_step, "time the write together with the read");
    add_file_flags(app, options);
}

void complete(Options& options, const Flags& flags, bool histories_given) {
    options.model = find_model(flags.model);
    options.dtype = parse_dtype(flags.dtype);
    options.cache = flags.cache == "cold" ? CacheState::cold : CacheState::warm;
    options.instruction_set = parse_instruction_set(flags.instruction_set);
    options.histories_given = histories_given;
    const std::set<std::string> distinct(options.reads.begin(), options.reads.end());
    require(distinct.size() == options.reads.size(), "--reads names a read twice");
    require(!options.seeds.empty() && !options.histories.empty(),
            "--seed and --histories take at least one number");
    std::ranges::sort(options.histories);
    options.histories.erase(std::unique(options.histories.begin(), options.histories.end()),
                            options.histories.end());
}

template <class Parse>
std::variant<Options, Refusal> options_or_refusal(const CLI::App& app, Parse parse) {
    try {
        return parse();
    } catch (const CLI::CallForHelp&) {
        return Refusal{kFine, app.help()};
    } catch (const CLI::ParseError& error) {
        return Refusal{kWrongUsage, report::one_line(error.what())};
    } catch (const std::invalid_argument& error) {  // a wrong NANOSERVE_INSTRUCTION_SET
        return Refusal{kWrongUsage, error.what()};
    }
}

}  // namespace

const char* to_string(CacheState cache) {
    return cache == CacheState::cold ? "cold" : "warm";
}

std::variant<Options, Refusal> parse_options(int argc, const char* const* argv) {
    CLI::App app{kDescription, "day20_readbench"};
    app.footer(kFooter);
    return options_or_refusal(app, [&] {
        Options options;
        Flags flags;
        add_flags(app, options, flags);
        days::parse(app, argc, argv);
        complete(options, flags, app.count("--histories") > 0);
        return options;
    });
}

std::variant<Options, Refusal> parse_plot_options(int argc, const char* const* argv) {
    CLI::App app{kPlotDescription, "day20_plot"};
    app.footer(kPlotFooter);
    return options_or_refusal(app, [&] {
        Options options;
        add_file_flags(app, options);
        days::parse(app, argc, argv);
        return options;
    });
}

std::vector<std::pair<std::string, std::string>> to_pairs(const Options& options) {
    return {{"histories", fmt::format("{}", fmt::join(options.histories, ","))},
            {"reads", fmt::format("{}", fmt::join(options.reads, ","))},
            {"model", options.model.name},
            {"block_size", fmt::format("{}", options.block_size)},
            {"dtype", std::string(nanoserve::to_string(options.dtype))},
            {"samples", fmt::format("{}", options.num_samples)},
            {"threads", fmt::format("{}", options.num_threads)},
            {"cache", to_string(options.cache)},
            {"instruction_set", std::string(nanoserve::to_string(options.instruction_set))},
            {"seed", fmt::format("{}", options.seed())}};
}

}  // namespace nanoserve::day20
