// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// time_in_turn: several reads, a sample of each in every round.
#pragma once

#include <nanoserve/bench/clock.hpp>
#include <nanoserve/bench/detail/take_sample.hpp>
#include <nanoserve/bench/timing_options.hpp>

#include <concepts>
#include <cstddef>
#include <span>
#include <stdexcept>
#include <vector>

namespace nanoserve {

/// Times all of `reads`, a sample of each in every one of `options.num_samples` rounds, so that
/// what disturbs the machine for longer than a round disturbs them alike. Rounds 0, 2, 4, … go
/// through them forwards, rounds 1, 3, 5, … backwards, as in `compare_reads`. The rest is as in
/// `time_read`: check, warm-up calls of all, samples, check.
///
/// @return the intervals of each read, in the order of the rounds, in nanoseconds per sample, as
/// the clock gave them; two lists of the same call are paired for a ReadComparison
/// @throws std::invalid_argument for options that ask for no sample, and for a stop rule, which
/// belongs to one read; what the reads, the clock and the hooks throw passes through
template <Clock C, std::invocable Read>
[[nodiscard]] std::vector<std::vector<double>> time_in_turn(C& clock, std::span<Read> reads,
                                                            const TimingOptions& options = {}) {
    require_valid(options);
    if (options.stop_rule) {
        throw std::invalid_argument("TimingOptions: time_in_turn takes no stop_rule");
    }
    detail::run_if_set(options.check);
    for (std::size_t call = 0; call < options.num_warmup; ++call) {
        for (Read& read : reads) {
            detail::warm_up(read, options);
        }
    }
    std::vector<std::vector<double>> intervals_ns(reads.size());
    for (std::size_t round = 0; round < options.num_samples; ++round) {
        for (std::size_t turn = 0; turn < reads.size(); ++turn) {
            const std::size_t i = round % 2 == 0 ? turn : reads.size() - 1 - turn;
            intervals_ns[i].push_back(detail::take_sample(clock, reads[i], options));
        }
    }
    detail::run_if_set(options.check);
    return intervals_ns;
}

}  // namespace nanoserve
