// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// Day 25: scores and values on tensor cores, tokens along the long side: every group size, one
// path.
#include "groups.hpp"
#include "prediction.hpp"
#include "story.hpp"

#include <gpu_bench/decode_day.hpp>

using namespace nanoserve;

int main(int argc, char** argv) {
    const gpu_bench::DecodeDay day = {
        .program = "day25_tensor_cores",
        .about =
            "Day 25: times Day 24's kernel and the same on tensor cores, beside the ceilings; "
            "with --shapes groups\nfor groups of 1 to 16 query heads. Without a GPU it draws "
            "who holds what, and shows the record.",
        .reads = {{"async_copy", day24::predicted_us}, {"tensor_cores", day25::predicted_us}},
        .baseline = "async_copy",
        .sets = {{"road", "day-25-tensor-cores", day24::cells()},
                 {"groups", "day-25-groups", day25::group_cells()}},
        .story = day25::tell_fragments};
    return gpu_bench::run_decode_day(day, argc, argv);
}
