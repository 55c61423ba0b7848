// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// How Days 24 and 25 cut up their cells, and what they foretell.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>
#include <day24_async_copy/prediction.hpp>
#include <day25_tensor_cores/groups.hpp>
#include <day25_tensor_cores/prediction.hpp>

using namespace nanoserve;
using Catch::Matchers::WithinRel;

namespace {

KVLayout layout_of(const gpu_bench::ReadCell& cell) {
    return gpu_bench::layout_of(cell, 1);
}

}  // namespace

TEST_CASE("each of Day 24's reads is cut up in a way that the kernel takes", "[day24]") {
    for (const gpu_bench::ReadCell& cell : day24::cells()) {
        CAPTURE(gpu_bench::label_of(cell));
        const AsyncCopyPlan plan = day24::plan_of(cell);
        CHECK(reason_not_to_plan(plan, layout_of(cell)).value_or("none") == "none");
        for (int num_stages = 1; num_stages <= 6; ++num_stages) {
            CAPTURE(num_stages);
            const AsyncCopyPlan with = day24::with_stages(plan, num_stages, cell.shape.head_dim);
            CHECK(with.num_stages == num_stages);
            CHECK(reason_not_to_plan(with, layout_of(cell)).value_or("none") == "none");
        }
    }
}

TEST_CASE("a stage is 32 KB of a thread block where histories are long", "[day24]") {
    for (const gpu_bench::ReadCell& cell : day24::cells()) {
        if (cell.seq_len >= 16384) {
            CAPTURE(gpu_bench::label_of(cell));
            const AsyncCopyPlan plan =
                day24::with_stages(day24::plan_of(cell), 1, cell.shape.head_dim);
            CHECK(plan.num_warps * 2 * 16 * gpu_bench::row_bytes(cell) == 32 * 1024);
        }
    }
}

TEST_CASE("a tile takes its wait, shared among the stages, or its work", "[day24]") {
    CHECK_THAT(day24::tile_us(3.0, 1.0, 1), WithinRel(4.0));
    CHECK_THAT(day24::tile_us(3.0, 1.0, 2), WithinRel(2.0));
    CHECK_THAT(day24::tile_us(3.0, 1.0, 4), WithinRel(1.0));
    CHECK_THAT(day24::tile_us(3.0, 1.0, 6), WithinRel(1.0));
}

TEST_CASE("more stages are never foretold to be slower", "[day24]") {
    for (const gpu_bench::ReadCell& cell : day24::cells()) {
        CAPTURE(gpu_bench::label_of(cell));
        for (int num_stages = 2; num_stages <= 6; ++num_stages) {
            CHECK(day24::predicted_stages_us(cell, num_stages) <=
                  day24::predicted_stages_us(cell, num_stages - 1));
        }
    }
}

TEST_CASE("tensor cores are foretold to cost the same for every group size", "[day25]") {
    const auto cells = day25::group_cells();
    REQUIRE(cells.size() == 12);
    for (const gpu_bench::ReadCell& cell : cells) {
        CAPTURE(gpu_bench::label_of(cell));
        const gpu_bench::ReadCell& first = cell.num_seqs == 8 ? cells[0] : cells[6];
        CHECK_THAT(day25::predicted_us(cell), WithinRel(day25::predicted_us(first)));
        CHECK(day24::predicted_us(cell) >= day24::predicted_us(first));
    }
}
