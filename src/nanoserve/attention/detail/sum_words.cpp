// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <nanoserve/attention/detail/lanes.hpp>
#include <nanoserve/attention/detail/sum_words.hpp>

namespace nanoserve::detail {
namespace {

// Four cache lines: enough sums side by side to hide the adds.
constexpr std::int64_t kWordsPerStep = 64;

template <int kWidth>
NANOSERVE_INLINE std::uint32_t sum(const void* words, std::int64_t num_words, const void* next) {
    using Uint = typename Register<kWidth>::Uint;
    constexpr int kNumSums = kWordsPerStep / kWidth;
    const auto* source = static_cast<const std::uint32_t*>(words);
    Uint sums[kNumSums] = {};
    std::int64_t i = 0;
    for (; i + kWordsPerStep <= num_words; i += kWordsPerStep) {
        if (next !=
            nullptr) {  // into the second-level cache: a block ahead is too far for the first
            for (std::int64_t line = 0; line < 4; ++line) {
                __builtin_prefetch(static_cast<const char*>(next) + i * 4 + line * 64, 0, 2);
            }
        }
        for (std::int64_t s = 0; s < kNumSums; ++s) {
            sums[s] += load_vector<Uint>(source + i + s * kWidth);
        }
    }
    std::uint32_t total = 0;
    for (; i < num_words; ++i) {
        total += load_vector<std::uint32_t>(source + i);
    }
    for (int s = 0; s < kNumSums; ++s) {
        for (int lane = 0; lane < kWidth; ++lane) {
            total += sums[s][lane];
        }
    }
    return total;
}

std::uint32_t sum_baseline(const void* words, std::int64_t num_words, const void* next) {
    return sum<4>(words, num_words, next);
}
#if defined(__x86_64__)
__attribute__((target("avx2"))) std::uint32_t sum_avx2(const void* words, std::int64_t num_words,
                                                       const void* next) {
    return sum<8>(words, num_words, next);
}
__attribute__((target("avx512f,avx512bw,avx512dq,avx512vl"))) std::uint32_t sum_avx512(
    const void* words, std::int64_t num_words, const void* next) {
    return sum<16>(words, num_words, next);
}
#endif

}  // namespace

SumWords sum_words(InstructionSet set) {
    switch (set) {
#if defined(__x86_64__)
        case InstructionSet::avx512:
            return sum_avx512;
        case InstructionSet::avx2:
            return sum_avx2;
#endif
        default:
            return sum_baseline;
    }
}

}  // namespace nanoserve::detail
