// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// Day 23: split a history among thread blocks all over the chip, and merge what they summed.
#include "prediction.hpp"
#include "story.hpp"

#include <gpu_bench/decode_day.hpp>

using namespace nanoserve;

int main(int argc, char** argv) {
    const gpu_bench::DecodeDay day = {
        .program = "day23_split_kv",
        .about =
            "Day 23: times the kernel that splits histories beside Day 22's and the ceilings.\n"
            "Without a GPU it shows how a history is cut up and merged, and the record.",
        .reads = {{"shared_heads", day22::predicted_us}, {"split_kv", day23::predicted_us}},
        .baseline = "shared_heads",
        .sets = {{"road", "day-23-split-kv", day23::cells()}},
        .story = day23::tell_splits};
    return gpu_bench::run_decode_day(day, argc, argv);
}
