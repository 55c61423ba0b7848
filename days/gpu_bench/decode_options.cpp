// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include "decode_options.hpp"

#include <nanoserve/report/one_line.hpp>

#include <command_line/parse.hpp>
#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <system_error>

namespace nanoserve::gpu_bench {
namespace {

constexpr std::size_t kQuickSamples = 10;

template <class Named>
std::vector<std::string> names_of(const std::vector<Named>& all) {
    std::vector<std::string> names;
    for (const Named& each : all) {
        names.push_back(each.name);
    }
    return names;
}

bool is_named(const ReadCell& cell, const std::vector<std::string>& texts) {
    const std::string label = " " + label_of(cell) + " ";
    return texts.empty() || std::ranges::any_of(texts, [&](const std::string& text) {
               return label.find(text) != std::string::npos;
           });
}

// What the flags say, before it is understood.
struct Flags {
    DecodeOptions options;
    std::string set;
    bool quick = false;
};

void add_flags(CLI::App& app, const DecodeDay& day, Flags& flags) {
    DecodeOptions& options = flags.options;
    app.add_option("--data", options.data,
                   "folder that gets the CSV and its sidecar (default: none is written)");
    app.add_flag("--check-only", options.check_only,
                 "compare the outputs with the float64 oracle and time nothing");
    app.add_option("--samples", options.num_samples, "samples of each read, a graph replay each")
        ->capture_default_str()
        ->check(CLI::Range(6, 100000));
    app.add_flag("--quick", flags.quick, fmt::format("{} samples of each read", kQuickSamples))
        ->excludes("--samples");
    app.add_flag("--as-peers", options.as_peers,
                 "a replay is one turn of at most 16 layers and begins on an idle GPU, as when the "
                 "peers were measured");
    app.add_option("--shapes", flags.set, "which set of cells")
        ->capture_default_str()
        ->check(CLI::IsMember(names_of(day.sets)));
    app.add_option("--cells", options.cells,
                   "only cells whose label holds one of these texts, for example \" 64x1024 \" of "
                   "\"32/8/64 bf16 64x1024 uniform NHD 16\"")
        ->delimiter(',');
    app.add_option("--only", options.only,
                   fmt::format("only these reads, besides the ceilings: of the first set {}",
                               fmt::join(names_of(reads_of(day, day.sets.front())), ", ")))
        ->delimiter(',');
}

std::variant<DecodeOptions, Refusal> understand(const DecodeDay& day, Flags flags) {
    DecodeOptions options = std::move(flags.options);
    options.set = *std::ranges::find(day.sets, flags.set, &CellSet::name);
    std::erase_if(options.set.cells,
                  [&](const ReadCell& cell) { return !is_named(cell, options.cells); });
    if (flags.quick) {
        options.num_samples = kQuickSamples;
    }
    if (options.set.cells.empty()) {
        return Refusal{kWrongUsage,
                       report::one_line(fmt::format("--cells: no cell of {} has {} in its label",
                                                    flags.set, fmt::join(options.cells, " or ")))};
    }
    const std::vector<std::string> reads = names_of(reads_of(day, options.set));
    for (const std::string& read : options.only) {
        if (std::ranges::find(reads, read) == reads.end()) {
            return Refusal{kWrongUsage,
                           report::one_line(fmt::format("--only: {} has no read {}; it has {}",
                                                        flags.set, read, fmt::join(reads, ", ")))};
        }
    }
    if (std::error_code ignored;
        !options.data.empty() && !std::filesystem::is_directory(options.data, ignored)) {
        return Refusal{kWrongUsage, report::one_line(fmt::format("--data: there is no folder {}",
                                                                 options.data.string()))};
    }
    return options;
}

}  // namespace

bool DecodeOptions::takes(std::string_view read) const {
    return only.empty() || std::ranges::find(only, read) != only.end();
}

std::variant<DecodeOptions, Refusal> parse_decode_options(const DecodeDay& day, int argc,
                                                          const char* const* argv) {
    CLI::App app{day.about, day.program};
    app.footer(kExitStatuses);
    try {
        Flags flags;
        flags.set = day.sets.front().name;
        add_flags(app, day, flags);
        days::parse(app, argc, argv);
        return understand(day, std::move(flags));
    } catch (const CLI::CallForHelp&) {
        return Refusal{kFine, app.help()};
    } catch (const CLI::ParseError& error) {
        return Refusal{kWrongUsage, report::one_line(error.what())};
    }
}

NamedOptions to_pairs(const DecodeOptions& options) {
    const auto list = [](const std::vector<std::string>& texts) {
        return texts.empty() ? "all" : fmt::format("{}", fmt::join(texts, ","));
    };
    return {{"shapes", options.set.name},
            {"cells", list(options.cells)},
            {"only", list(options.only)},
            {"samples", fmt::format("{}", options.num_samples)},
            {"rotation", "400 MB of layers, at most 16"},
            {"replay", options.as_peers ? "the layers once, from an idle GPU"
                                        : "128 reads or 2 GB, behind another replay"},
            {"order", options.as_peers ? "all samples of a read, then the next read"
                                       : "a sample of each read in turn, there and back"}};
}

}  // namespace nanoserve::gpu_bench
