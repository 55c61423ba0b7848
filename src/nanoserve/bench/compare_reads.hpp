// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// compare_reads: is the candidate faster than the baseline, or is it noise?
#pragma once

#include <nanoserve/bench/clock.hpp>
#include <nanoserve/bench/detail/take_sample.hpp>
#include <nanoserve/bench/read_comparison.hpp>
#include <nanoserve/bench/timing_options.hpp>

#include <concepts>
#include <cstddef>
#include <vector>

namespace nanoserve {

/// Times `baseline` and `candidate` in pairs, `options.num_samples` of them.
///
/// The baseline goes first in pairs 0, 2, 4, … and the candidate in pairs 1, 3, 5, …, so a machine
/// that steadily warms up or slows down favours each read equally often. The rest is as in
/// `time_read`: check, warm-up calls of both, samples, check. A stop rule ends the run once both
/// reads meet it.
///
/// Throws std::invalid_argument for options that ask for no sample; what the reads, the clock and
/// the hooks throw passes through.
//! [compare_reads]
template <Clock C, std::invocable Baseline, std::invocable Candidate>
[[nodiscard]] ReadComparison compare_reads(C& clock, Baseline&& baseline, Candidate&& candidate,
                                           const TimingOptions& options = {}) {
    require_valid(options);
    detail::run_if_set(options.check);
    for (std::size_t call = 0; call < options.num_warmup; ++call) {
        detail::warm_up(baseline, options);
        detail::warm_up(candidate, options);
    }

    std::vector<double> baseline_ns;
    std::vector<double> candidate_ns;
    const auto sample_baseline = [&] {
        baseline_ns.push_back(detail::take_sample(clock, baseline, options));
    };
    const auto sample_candidate = [&] {
        candidate_ns.push_back(detail::take_sample(clock, candidate, options));
    };
    while (needs_another_sample(options, baseline_ns) ||
           needs_another_sample(options, candidate_ns)) {
        const bool baseline_first = baseline_ns.size() % 2 == 0;
        if (baseline_first) {
            sample_baseline();
            sample_candidate();
        } else {
            sample_candidate();
            sample_baseline();
        }
    }
    detail::run_if_set(options.check);

    const auto count = options.stop_rule ? SampleCount::by_stop_rule : SampleCount::fixed;
    return ReadComparison(baseline_ns, candidate_ns, options.calls_per_sample, count);
}
//! [compare_reads]

}  // namespace nanoserve
