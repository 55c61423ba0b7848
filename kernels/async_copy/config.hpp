// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kernels/async_copy/plan.hpp>
#include <kernels/decode/config.hpp>

namespace nanoserve {

/// The compile-time sizes of a split walk: those of the decode kernel, with the number of stages
/// free and room for groups of any size.
/// @tparam Element of q, K, V and out: Bf16 or Fp16
/// @tparam kHeadDimension 64 or 128
/// @tparam kLargestGroup query heads that share a KV head, at most
/// @tparam kNumStages of each warp's ring
template <class Element, int kHeadDimension, int kLargestGroup, int kNumStages>
struct SplitWalkConfig : DecodeConfig<Element, kHeadDimension, (kLargestGroup + 7) / 8,
                                      /*kReadOnce=*/false, /*kGeneralCase=*/false> {
    using Base = DecodeConfig<Element, kHeadDimension, (kLargestGroup + 7) / 8, false, false>;
    static constexpr int kGroupSlots = kLargestGroup;
    static constexpr int kStages = kNumStages;

    /// Of one warp: its ring, in which it leaves its partial result.
    static constexpr int kRingBytes =
        static_cast<int>(split_walk_stages(kStages, kHeadDimension, kGroupSlots)) *
        Base::kStageBytes;

    static_assert(kStages >= 1 && kStages <= 6, "kMaxStages in plan.cpp");
};

}  // namespace nanoserve
