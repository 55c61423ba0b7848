// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include "gotchas.hpp"

#include "sweep.hpp"
#include "timed_read.hpp"

#include <nanoserve/bench/clock.hpp>
#include <nanoserve/bench/time_read.hpp>
#include <nanoserve/report/number_text.hpp>
#include <nanoserve/report/standard_error.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <stdexcept>
#include <vector>

namespace nanoserve::day20 {
namespace {

std::string time_text(std::optional<double> ns) {
    return ns ? report::duration_text(*ns / 1e3)
              : std::string("not available (the clock is too coarse)");
}

ReadContext make_context(const Options& options) {
    return ReadContext(
        {.num_threads = options.num_threads, .instruction_set = options.instruction_set});
}

// As the sweep times them, with a longer warm-up: a fact has only one history to show.
TimingOptions patient_timing(const Options& options, SyntheticHistory& history) {
    TimingOptions timing = make_timing_options(options, history);
    timing.num_warmup = 100;
    return timing;
}

// The history of a fact about one read: the longest that was asked for, or the one that shows it
// well.
std::int64_t one_history(const Options& options, std::int64_t otherwise) {
    return options.histories_given ? options.histories.back() : otherwise;
}

// Largest over smallest, less 1: how far a figure wandered.
double wandered(const std::vector<double>& values) {
    const auto [low, high] = std::ranges::minmax(values);
    return high / low - 1.0;
}

}  // namespace

ExitStatus time_the_step(const Options& options) {
    constexpr std::int64_t kSpareTokens = 256;
    const std::int64_t seq_len = one_history(options, 16);
    SyntheticHistory history({.shape = options.model.attention,
                              .seq_len = seq_len,
                              .block_size = options.block_size,
                              .dtype = options.dtype,
                              .spare_tokens = kSpareTokens,
                              .seed = options.seed()});
    ReadContext context = make_context(options);
    TimedRead read("fused", history, context);
    SteadyClock clock;
    const ReadTiming alone = time_read(clock, read, {.num_samples = options.num_samples});
    fmt::print("the read alone, {} tokens: best {}, median {}; the pool is as it was\n", seq_len,
               time_text(alone.best_ns()), time_text(alone.median_ns()));

    std::int64_t num_steps = 0;
    const auto step = [&] {
        const WriteResult written = history.append();
        if (!written.ok()) {
            throw std::runtime_error(fmt::format(
                "step {} failed, {}: each timed step appends a token, and the pool of {} blocks is "
                "full. Time the "
                "read, not the step: write once before the clock starts",
                num_steps + 1, nanoserve::to_string(written), history.cache().pool().num_blocks()));
        }
        read();
        ++num_steps;
    };
    const std::size_t num_fitting = std::min<std::size_t>(100, options.num_samples);
    const ReadTiming steps = time_read(clock, step, {.num_samples = num_fitting});
    fmt::print(
        "write + read, {} steps: best {}, median {}; the history has grown from {} to {} tokens "
        "meanwhile,\n"
        "so the samples are not of one thing, and the write is in all of them\n",
        num_fitting, time_text(steps.best_ns()), time_text(steps.median_ns()), seq_len,
        history.params().seq_lens[0]);
    try {
        (void)time_read(clock, step, {.num_samples = options.num_samples});
    } catch (const std::runtime_error& error) {
        report::complain("day20", error.what());
        return kMeasurementFailed;
    }
    fmt::print("{} more steps still found room; ask for more --samples to see the pool run out\n",
               options.num_samples);
    return kFine;
}

ExitStatus compare_seeds(const Options& options) {
    const std::int64_t seq_len = one_history(options, 256);
    fmt::print(
        "the fused read of {} tokens, {} samples for each seed: other values, other blocks\n",
        seq_len, options.num_samples);
    std::vector<double> bests;
    for (const std::uint32_t seed : options.seeds) {
        SyntheticHistory history = make_history(options, seq_len, seed);
        ReadContext context = make_context(options);
        TimedRead read("fused", history, context);
        SteadyClock clock;
        const ReadTiming timing = time_read(clock, read, patient_timing(options, history));
        fmt::print("  seed {:>3}: best {}, median {}\n", seed, time_text(timing.best_ns()),
                   time_text(timing.median_ns()));
        bests.push_back(timing.best_ns().value_or(0.0));
    }
    if (std::ranges::min(bests) <= 0.0) {
        throw std::runtime_error("the clock is too coarse for this read; take a longer history");
    }
    fmt::print("the bests lie within {:.1f} % of each other\n", 100.0 * wandered(bests));
    return kFine;
}

ExitStatus repeat_one_read(const Options& options) {
    const std::int64_t seq_len = one_history(options, 256);
    SyntheticHistory history = make_history(options, seq_len, options.seed());
    ReadContext context = make_context(options);
    TimedRead read("fused", history, context);
    SteadyClock clock;
    std::vector<double> bests, medians;
    fmt::print("the fused read of {} tokens, {} samples, {} times\n", seq_len, options.num_samples,
               options.num_repeats);
    for (int i = 1; i <= options.num_repeats; ++i) {
        const ReadTiming timing = time_read(clock, read, patient_timing(options, history));
        fmt::print("  {:>3}: best {}, median {}\n", i, time_text(timing.best_ns()),
                   time_text(timing.median_ns()));
        if (timing.best_ns() && timing.median_ns()) {
            bests.push_back(*timing.best_ns());
            medians.push_back(*timing.median_ns());
        }
    }
    if (bests.empty()) {
        throw std::runtime_error("the clock is too coarse for this read; take a longer history");
    }
    fmt::print("from repeat to repeat the best wandered by {:.1f} %, the median by {:.1f} %\n",
               100.0 * wandered(bests), 100.0 * wandered(medians));
    return kFine;
}

}  // namespace nanoserve::day20
