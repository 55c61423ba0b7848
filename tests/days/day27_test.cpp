// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// The parts of Day 27: where it measures, what it foretells, and its experiment with scales.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>
#include <day27_fp8_cache/cells.hpp>
#include <day27_fp8_cache/prediction.hpp>
#include <day27_fp8_cache/scale_errors.hpp>

#include <cmath>

using Catch::Matchers::WithinRel;
using namespace nanoserve;
using namespace nanoserve::day27;

TEST_CASE("Day 27 reads each of the peers' cells from fp8, then from bf16", "[days]") {
    const auto cells = road_cells();
    REQUIRE(cells.size() == 2 * 54);
    for (std::size_t i = 0; i < cells.size(); i += 2) {
        CHECK(cells[i].dtype == DType::fp8_e4m3);
        CHECK(cells[i].io_dtype == DType::bf16);
        gpu_bench::ReadCell as_bf16 = cells[i];
        as_bf16.dtype = DType::bf16;
        CHECK(cells[i + 1] == as_bf16);
    }
}

TEST_CASE("Day 27 foretells no cell in half of bf16's time, and none below its bytes", "[days]") {
    const gpu_bench::KnownGpu gpu;
    const auto cells = road_cells();
    for (std::size_t i = 0; i < cells.size(); i += 2) {
        CAPTURE(gpu_bench::label_of(cells[i]));
        const double fp8 = predicted_us(cells[i]);
        CHECK(std::isfinite(fp8));
        CHECK(fp8 > 0.5 * predicted_us(cells[i + 1]));
        CHECK(fp8 > gpu_bench::dram_us(gpu, cells[i]));
    }
}

TEST_CASE("a scale makes the size of the values not matter", "[days]") {
    // Powers of two, so that nothing but the exponents changes.
    const auto near_one = errors_of({.scales = ScaleChoice::heads});
    for (const float size : {0x1p-20f, 0x1p-5f, 0x1p20f}) {
        CAPTURE(size);
        const auto pool = errors_of({.size = {size, size}, .scales = ScaleChoice::tensor});
        const auto heads = errors_of({.size = {size, 1.0f}, .scales = ScaleChoice::heads});
        const auto pool_near_one = errors_of({.scales = ScaleChoice::tensor});
        for (std::size_t head = 0; head < kNumKvHeads; ++head) {
            CHECK_THAT(pool[head], WithinRel(pool_near_one[head], 1e-4));
            CHECK_THAT(heads[head], WithinRel(near_one[head], 1e-4));
        }
    }
}

TEST_CASE("without a scale small values are lost and large ones cut", "[days]") {
    // Below 2^-10 everything rounds to 0, and so does every output.
    CHECK(errors_of({.size = {0x1p-11f, 0x1p-11f}})[0] == 1.0);
    // Nothing is above 448, where the mean of the magnitudes is 2^19.
    CHECK(errors_of({.size = {0x1p20f, 0x1p20f}})[0] > 0.9);
    const auto one_scale = errors_of({.size = {1.0f, 0x1p-20f}, .scales = ScaleChoice::tensor});
    CHECK(one_scale[0] < 0x1p-4);
    CHECK(one_scale[1] == 1.0);  // 448 * 2^-20 is below 2^-10
}

TEST_CASE("a cache of bf16 keeps more digits than one of fp8", "[days]") {
    const auto bf16 = errors_of({.dtype = DType::bf16});
    const auto fp8 = errors_of({});
    for (std::size_t head = 0; head < kNumKvHeads; ++head) {
        CHECK(bf16[head] < 0x1p-8);
        CHECK(fp8[head] < 0x1p-4);
        CHECK(bf16[head] < fp8[head] / 4);
    }
}
