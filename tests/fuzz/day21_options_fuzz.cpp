// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// Any command line for Day 21: options within their limits that say the same when given again, or a
// refusal of one line.
#include "command_line.hpp"
#include "fuzz_target.hpp"

#include <options.hpp>

using namespace nanoserve;
using namespace nanoserve::day21;
using namespace nanoserve::fuzz;

namespace {

std::variant<Options, Refusal> parse(const CommandLine& line) {
    return parse_options(line.argc(), line.argv());
}

// The pairs that have a flag: block size and dtype are the same in every run.
std::vector<std::pair<std::string, std::string>> flags_of(const Options& options) {
    auto pairs = to_pairs(options);
    std::erase_if(pairs, [](const auto& pair) {
        return pair.first == "block_size" || pair.first == "dtype";
    });
    return pairs;
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto parsed = parse(CommandLine("day21_kernel", text_of(data, size)));
    if (const auto* refusal = std::get_if<Refusal>(&parsed)) {
        require_property(refusal->status == kFine || refusal->status == kWrongUsage,
                         "a refusal is help or wrong usage");
        if (refusal->status == kWrongUsage) {
            require_one_line(refusal->text);
        }
        return 0;
    }
    const auto& options = std::get<Options>(parsed);
    require_property(options.warm_up || options.check_only || !options.cells().empty(),
                     "there is something to measure");
    const auto again = parse(CommandLine("day21_kernel", flags_of(options)));
    require_property(std::holds_alternative<Options>(again), "recorded options can be given again");
    require_property(flags_of(std::get<Options>(again)) == flags_of(options),
                     "recorded options mean the same when given again");
    return 0;
}
