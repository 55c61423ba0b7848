// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <nanoserve/attention/instruction_set.hpp>
#include <nanoserve/model/require.hpp>

#include <algorithm>
#include <array>
#include <cstdlib>

namespace nanoserve {
namespace {

constexpr std::array kNames = {std::pair{InstructionSet::baseline, std::string_view("baseline")},
                               std::pair{InstructionSet::avx2, std::string_view("avx2")},
                               std::pair{InstructionSet::avx512, std::string_view("avx512")}};

#if defined(__x86_64__)
// Whether the processor has the conversion that detail/lanes.hpp uses; compiled by Clang it uses
// none, and older Clangs do not know the name.
bool converts_fp16() {
#if defined(__clang__)
    return true;
#else
    return __builtin_cpu_supports("f16c") != 0;
#endif
}
#endif

}  // namespace

std::string_view to_string(InstructionSet set) {
    const auto* found =
        std::ranges::find(kNames, set, [](const auto& entry) { return entry.first; });
    return found == kNames.end() ? "unknown" : found->second;
}

InstructionSet parse_instruction_set(std::string_view text) {
    const auto* found =
        std::ranges::find(kNames, text, [](const auto& entry) { return entry.second; });
    require(found != kNames.end(), "instruction set is \"", text,
            "\"; known are baseline, avx2, avx512");
    return found->first;
}

std::vector<InstructionSet> available_instruction_sets() {
    std::vector<InstructionSet> sets = {InstructionSet::baseline};
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && converts_fp16()) {
        sets.push_back(InstructionSet::avx2);
        if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
            __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")) {
            sets.push_back(InstructionSet::avx512);
        }
    }
#endif
    return sets;
}

InstructionSet default_instruction_set() {
    const auto available = available_instruction_sets();
    // NOLINTNEXTLINE(concurrency-mt-unsafe): nothing here writes the environment
    const char* wanted = std::getenv("NANOSERVE_INSTRUCTION_SET");
    if (wanted == nullptr || *wanted == '\0') {
        return available.back();
    }
    const InstructionSet set = parse_instruction_set(wanted);
    require(std::ranges::find(available, set) != available.end(), "NANOSERVE_INSTRUCTION_SET is ",
            wanted, ", which this processor does not have");
    return set;
}

}  // namespace nanoserve
