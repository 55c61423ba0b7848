// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// Any command line for Day 20: options within their limits that say the same when given again, or a
// refusal of one line.
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

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto parsed = parse(CommandLine("day20_readbench", text_of(data, size)));
    if (const auto* refusal = std::get_if<Refusal>(&parsed)) {
        require_property(refusal->status == kFine || refusal->status == kWrongUsage,
                         "a refusal is help or wrong usage");
        if (refusal->status == kWrongUsage) {
            require_one_line(refusal->text);
        }
        return 0;
    }
    const auto& options = std::get<Options>(parsed);
    require_limits(options);
    const auto again = parse(CommandLine("day20_readbench", to_pairs(options)));
    require_property(std::holds_alternative<Options>(again), "recorded options can be given again");
    require_property(to_pairs(std::get<Options>(again)) == to_pairs(options),
                     "recorded options mean the same when given again");
    return 0;
}
