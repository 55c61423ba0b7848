// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// How far attention over rounded K and V is from attention over the values themselves.
#pragma once

#include <nanoserve/model/dtype.hpp>

#include <array>
#include <cstdint>

namespace nanoserve::day27 {

inline constexpr std::int32_t kNumKvHeads = 2;

/// How the scales of a pool are chosen.
enum class ScaleChoice : std::uint8_t {
    none,    ///< 1
    tensor,  ///< one for K and one for V, from the largest value of all heads
    heads,   ///< one for each KV head, from the largest value of that head
};

/// One experiment: random K and V in [-1, 1), those of KV head h times size[h]. The queries of its
/// group are divided by size[h], so that the scores are of the same size in all trials.
struct ScaleTrial {
    std::array<float, kNumKvHeads> size = {1.0f, 1.0f};
    DType dtype = DType::fp8_e4m3;  ///< of the pool
    ScaleChoice scales = ScaleChoice::none;
};

/// Of each KV head: the largest |out - exact| of its query heads over the largest |exact|, `exact`
/// being the float64 attention over K and V before they were rounded.
[[nodiscard]] std::array<double, kNumKvHeads> errors_of(const ScaleTrial& trial);

}  // namespace nanoserve::day27
