// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// Day 24: keep bytes in flight: asynchronous copies into a ring of stages of each warp's own.
#include "cells.hpp"
#include "prediction.hpp"
#include "story.hpp"

#include <gpu_bench/decode_day.hpp>

#include <string>

using namespace nanoserve;

int main(int argc, char** argv) {
    gpu_bench::DecodeDay day = {
        .program = "day24_async_copy",
        .about =
            "Day 24: times Day 23's kernel, today's, and today's with rings of 1 to 6 stages, "
            "beside the ceilings.\nWithout a GPU it draws the ring, and shows the record.",
        .reads = {{"split_kv", day24::predicted_split_kv_us}, {"async_copy", day24::predicted_us}},
        .baseline = "split_kv",
        .sets = {{"road", "day-24-async-copy", day24::cells()}},
        .story = day24::tell_ring};
    for (int num_stages = 1; num_stages <= 6; ++num_stages) {
        day.reads.push_back(
            {"stages_" + std::to_string(num_stages), [num_stages](const gpu_bench::ReadCell& cell) {
                 return day24::predicted_stages_us(cell, num_stages);
             }});
    }
    return gpu_bench::run_decode_day(day, argc, argv);
}
