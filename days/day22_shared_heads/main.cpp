// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// Day 22: one thread block reads each row once for its whole group of heads, 16 bytes for each
// lane.
#include "prediction.hpp"
#include "story.hpp"

#include <gpu_bench/decode_day.hpp>

using namespace nanoserve;

int main(int argc, char** argv) {
    const gpu_bench::DecodeDay day = {
        .program = "day22_shared_heads",
        .about =
            "Day 22: times the kernel whose query heads share each row beside Day 21's and the "
            "ceilings.\nWithout a GPU it shows what its CPU twin reads, and the record.",
        .reads = {{"general_attention", day22::predicted_general_us},
                  {"shared_heads", day22::predicted_us}},
        .baseline = "general_attention",
        .sets = {{"road", "day-22-shared-heads", day22::cells()}},
        .story = day22::tell_reads};
    return gpu_bench::run_decode_day(day, argc, argv);
}
