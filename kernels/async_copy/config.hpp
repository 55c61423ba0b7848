// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kernels/decode/config.hpp>

#include <algorithm>

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

    /// What a warp leaves: [kGroupSlots][kPartialPitch] floats, then a maximum and a sum for each.
    static constexpr int kPartialBytes = kGroupSlots * (Base::kPartialPitch + 2) * 4;

    /// Of one warp: its ring, in which it leaves its partial result; whole stages.
    static constexpr int kRingBytes =
        std::max(kStages, (kPartialBytes + Base::kStageBytes - 1) / Base::kStageBytes) *
        Base::kStageBytes;

    static_assert(kStages >= 1 && kStages <= 6, "kMaxStages in plan.cpp");
};

}  // namespace nanoserve
