// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// Any command line for a day with a decode kernel: cells to measure, or a refusal of one line.
#include "command_line.hpp"
#include "fuzz_target.hpp"

#include <nanoserve/model/model_config.hpp>

#include <gpu_bench/decode_options.hpp>

using namespace nanoserve;
using namespace nanoserve::gpu_bench;
using namespace nanoserve::fuzz;

namespace {

DecodeDay made_up_day() {
    const ReadCell cell{.shape = llama_3_2_1b().attention, .num_seqs = 8, .seq_len = 1024};
    return {.program = "day99_fuzz",
            .about = "Day 99: a day that there is not.",
            .reads = {{"a_read", nullptr}, {"another", nullptr}},
            .sets = {{"road", "day-99-road", {cell}}, {"other", "day-99-other", {cell, cell}}},
            .story = nullptr};
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const CommandLine line("day99_fuzz", text_of(data, size));
    const auto parsed = parse_decode_options(made_up_day(), line.argc(), line.argv());
    if (const auto* refusal = std::get_if<Refusal>(&parsed)) {
        require_property(refusal->status == kFine || refusal->status == kWrongUsage,
                         "a refusal is help or wrong usage");
        if (refusal->status == kWrongUsage) {
            require_one_line(refusal->text);
        }
        return 0;
    }
    const auto& options = std::get<DecodeOptions>(parsed);
    require_property(!options.set.cells.empty() && options.num_samples >= 6,
                     "there is something to measure");
    require_property(!to_pairs(options).empty(), "the options can be recorded");
    return 0;
}
