// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// Any command line for Day 20, and for its plot: options within their limits that say the same when
// given again, or a refusal of one line.
#include "command_line.hpp"
#include "fuzz_target.hpp"

#include <options.hpp>

using namespace nanoserve;
using namespace nanoserve::day20;
using namespace nanoserve::fuzz;

namespace {

std::variant<Options, Refusal> parse(const CommandLine& line) {
    return parse_options(line.argc(), line.argv());
}

void require_limits(const Options& options) {
    require_property(!options.histories.empty() && options.histories.front() >= 1 &&
                         options.histories.back() <= 1 << 20,
                     "histories lie in their range, in order");
    require_property(options.num_samples >= 6 && options.num_threads >= 1 &&
                         options.block_size >= 1 && options.num_repeats >= 1,
                     "counts are positive");
    require_property(!options.reads.empty() && !options.seeds.empty(), "lists are not empty");
}

// nullptr for a refusal.
const Options* options_of(const std::variant<Options, Refusal>& parsed) {
    if (const auto* refusal = std::get_if<Refusal>(&parsed)) {
        require_property(refusal->status == kFine || refusal->status == kWrongUsage,
                         "a refusal is help or wrong usage");
        if (refusal->status == kWrongUsage) {
            require_one_line(refusal->text);
        }
    }
    return std::get_if<Options>(&parsed);
}

void require_same_again(const Options& options) {
    const auto again = parse(CommandLine("day20_readbench", to_pairs(options)));
    require_property(std::holds_alternative<Options>(again), "recorded options can be given again");
    require_property(to_pairs(std::get<Options>(again)) == to_pairs(options),
                     "recorded options mean the same when given again");
}

void require_plain_name(const Options& options) {
    require_property(options.name.empty() || options.csv().filename() == options.name + ".csv",
                     "a name is the name of a file");
    require_property(!options.data.empty() && !options.plots.empty(), "folders have a name");
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto parsed = parse(CommandLine("day20_readbench", text_of(data, size)));
    if (const Options* options = options_of(parsed)) {
        require_limits(*options);
        require_plain_name(*options);
        require_same_again(*options);
    }
    const CommandLine plot("day20_plot", text_of(data, size));
    const auto plot_parsed = parse_plot_options(plot.argc(), plot.argv());
    if (const Options* options = options_of(plot_parsed)) {
        require_plain_name(*options);
    }
    return 0;
}
