// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// Day 27: half the bytes: pools of e4m3 with scales, which become numbers in registers.
#include "cells.hpp"
#include "prediction.hpp"
#include "story.hpp"

#include <gpu_bench/decode_day.hpp>

using namespace nanoserve;

int main(int argc, char** argv) {
    const gpu_bench::DecodeDay day = {
        .program = "day27_fp8_cache",
        .about =
            "Day 27: times paged_attention over pools of fp8 and over pools of bf16, on the peers' "
            "cells, beside the ceilings of\neach; with --shapes peers --as-peers those of fp8 "
            "alone, as the "
            "peers were timed. Without a GPU it shows what scales are good for, "
            "and the record.",
        .reads = {{"paged_attention", day27::predicted_us}},
        .sets = {{"road", "day-27-fp8-cache", day27::road_cells()},
                 {"peers", "day-27-as-peers", day27::peer_cells()}},
        .story = day27::tell_without_gpu};
    return gpu_bench::run_decode_day(day, argc, argv);
}
