// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// Day 26: one launch for every batch: parts of a history meet inside a cluster, nothing is planned
// by length on the host.
#include "cells.hpp"
#include "plans.hpp"
#include "prediction.hpp"
#include "story.hpp"

#include <gpu_bench/decode_day.hpp>

using namespace nanoserve;

int main(int argc, char** argv) {
    const gpu_bench::DecodeDay day = {
        .program = "day26_one_launch",
        .about =
            "Day 26: times paged_attention, the front door, beside the ceilings: on the peers' "
            "cells, or with --shapes other\non other shapes, types, block sizes and orders, or "
            "with --shapes peers --as-peers as the peers were timed;\nwith --shapes plans beside "
            "every way of cutting the work up. "
            "Without a GPU it shows how each batch is cut up, and the record.",
        .reads = {{"paged_attention", day26::predicted_us},
                  {"paged_attention_balanced", day26::predicted_balanced_us},
                  {"paged_attention_overlapping", day26::predicted_overlapping_us}},
        .sets = {{"road", "day-26-one-launch", day26::road_cells()},
                 {"other", "day-26-other-shapes", day26::other_cells()},
                 {"peers", "day-26-as-peers", day26::road_cells()},
                 {"plans", "day-26-plans", day26::plan_cells(), day26::plan_reads()}},
        .story = day26::tell_without_gpu};
    return gpu_bench::run_decode_day(day, argc, argv);
}
