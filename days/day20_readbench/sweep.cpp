// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include "sweep.hpp"

#include "second_opinion.hpp"
#include "timed_read.hpp"

#include <nanoserve/attention/attention_oracle.hpp>
#include <nanoserve/attention/rounding_bound.hpp>
#include <nanoserve/bench/clock.hpp>
#include <nanoserve/bench/compare_reads.hpp>
#include <nanoserve/bench/time_read.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <stdexcept>
#include <vector>

namespace nanoserve::day20 {
namespace {

// Compares the reads with the oracle, and gather with fused bit by bit, from outputs that hold NaN
// before.
class EqualityCheck {
  public:
    EqualityCheck(std::vector<TimedRead>& reads, const SyntheticHistory& history, int num_threads)
        : reads_(reads),
          tokens_(history.spec().seq_len),
          oracle_(attention_oracle(history.params())),
          two_pass_bound_(rounding_bound(history.params())),
          streaming_bound_(streaming_rounding_bound(history.params(), num_threads)) {}

    //! [check]
    void operator()() {
        const TimedRead* two_pass = nullptr;
        for (TimedRead& read : reads_) {
            std::ranges::fill(read.out(), std::numeric_limits<float>::quiet_NaN());
            read();
            require_close(read);
            if (read.name() != "streaming") {
                require_equal(two_pass, read);
                two_pass = &read;
            }
        }
    }
    //! [check]

    [[nodiscard]] double error_of(const TimedRead& read) const {
        return relative_error(read.out().data(), DType::fp32, oracle_);
    }

  private:
    void require_close(const TimedRead& read) const {
        const double bound = read.name() == "streaming" ? streaming_bound_ : two_pass_bound_;
        for (std::size_t i = 0; i < oracle_.out.size(); ++i) {
            if (!(std::abs(double{read.out()[i]} - oracle_.out[i]) <= bound)) {
                throw std::runtime_error(
                    fmt::format("at {} tokens element {} of {} is {}, the oracle's is {}; rounding "
                                "explains {:.2g}",
                                tokens_, i, read.name(), read.out()[i], oracle_.out[i], bound));
            }
        }
    }

    void require_equal(const TimedRead* first, const TimedRead& second) const {
        for (std::size_t i = 0; first != nullptr && i < second.out().size(); ++i) {
            if (std::bit_cast<std::uint32_t>(first->out()[i]) !=
                std::bit_cast<std::uint32_t>(second.out()[i])) {
                throw std::runtime_error(
                    fmt::format("at {} tokens element {} is {} by {} and {} by {}", tokens_, i,
                                first->out()[i], first->name(), second.out()[i], second.name()));
            }
        }
    }

    std::vector<TimedRead>& reads_;
    std::int64_t tokens_;
    OracleResult oracle_;
    double two_pass_bound_;
    double streaming_bound_;
};

// The first history is the one that the oracle knows: a check starts there.
std::function<void()> on_first_history(SyntheticHistory& history, EqualityCheck& check) {
    return [&history, &check, first = history.params().block_tables] {
        while (history.params().block_tables != first) {
            history.rotate();
        }
        check();
    };
}

void time_floor(const TimingOptions& timing_options, SyntheticHistory& history,
                ReadContext& context, SweepPoint& point) {
    SteadyClock clock;
    std::uint32_t sum = 0;
    for (const FloorOrder order : kFloorOrders) {
        const ReadTiming timing = time_read(
            clock, [&] { sum += read_floor(history.params(), order, context); }, timing_options);
        const bool first = point.floor.samples_ns().empty();
        const bool better = timing.best_ns() &&
                            (!point.floor.best_ns() || *timing.best_ns() < *point.floor.best_ns());
        if (first || better) {
            point.floor = timing;
        }
    }
}

// The name of a read that was faster than the floor, or nothing.
std::optional<std::string> below_floor(const SweepPoint& point) {
    for (const MeasuredRead& read : point.reads) {
        if (read.timing.best_ns() && point.floor.best_ns() &&
            *read.timing.best_ns() < *point.floor.best_ns()) {
            return read.name;
        }
    }
    return std::nullopt;
}

// A floor that was disturbed in all its samples is timed again; one that stays above a read is an
// error.
void settle_floor(const TimingOptions& timing_options, SyntheticHistory& history,
                  ReadContext& context, SweepPoint& point) {
    constexpr int kMoreTries = 3;
    for (int i = 0; i < kMoreTries && below_floor(point); ++i) {
        time_floor(timing_options, history, context, point);
    }
    if (const auto read = below_floor(point)) {
        throw std::runtime_error(
            fmt::format("at {} tokens {} is faster than the read floor of {:.0f} ns: the "
                        "measurement is wrong",
                        point.seq_len, *read, *point.floor.best_ns()));
    }
}

// Times the first read alone if there is no other, else each other against it.
std::vector<MeasuredRead> time_reads(std::vector<TimedRead>& reads,
                                     const TimingOptions& timing_options) {
    SteadyClock clock;
    std::vector<MeasuredRead> measured;
    if (reads.size() == 1) {
        measured.push_back({.name = reads[0].name(),
                            .timing = time_read(clock, reads[0], timing_options),
                            .comparison = std::nullopt});
    }
    for (std::size_t i = 1; i < reads.size(); ++i) {
        const ReadComparison comparison = compare_reads(clock, reads[0], reads[i], timing_options);
        if (i == 1) {
            measured.push_back({.name = reads[0].name(),
                                .timing = comparison.baseline,
                                .comparison = std::nullopt});
        }
        measured.push_back(
            {.name = reads[i].name(), .timing = comparison.candidate, .comparison = comparison});
    }
    return measured;
}

}  // namespace

SyntheticHistory make_history(const Options& options, std::int64_t seq_len, std::uint32_t seed) {
    constexpr std::int64_t kColdPoolBytes = std::int64_t{256}
                                            << 20;  // well beyond the last-level cache
    HistorySpec spec{.shape = options.model.attention,
                     .seq_len = seq_len,
                     .block_size = options.block_size,
                     .dtype = options.dtype,
                     .seed = seed};
    if (options.cache == CacheState::cold) {
        spec.num_histories = std::max<std::int64_t>(2, histories_in(kColdPoolBytes, spec));
    }
    return SyntheticHistory(spec);
}

TimingOptions make_timing_options(const Options& options, SyntheticHistory& history) {
    TimingOptions timing_options{.num_samples = options.num_samples};
    if (options.cache == CacheState::cold) {
        timing_options.before_sample = [&history] { history.rotate(); };
    } else {
        // Another read's copy would push this one's history out of the caches.
        timing_options.settle_calls = 1;
    }
    return timing_options;
}

//! [measure]
SweepPoint measure(const Options& options, std::int64_t seq_len) {
    SyntheticHistory history = make_history(options, seq_len, options.seed());
    ReadContext context(
        {.num_threads = options.num_threads, .instruction_set = options.instruction_set});
    std::vector<TimedRead> reads;
    for (const std::string& name : options.reads) {
        reads.emplace_back(name, history, context);
    }
    EqualityCheck check(reads, history, options.num_threads);

    const TimingOptions timing_options = make_timing_options(options, history);
    SweepPoint point{.seq_len = seq_len,
                     .kv_bytes = options.model.attention.kv_bytes(seq_len, options.dtype),
                     .reads = {},
                     .floor = {}};
    time_floor(timing_options, history, context, point);
    TimingOptions checked_options = timing_options;
    checked_options.check = on_first_history(history, check);
    point.reads = time_reads(reads, checked_options);
    settle_floor(timing_options, history, context, point);

    for (std::size_t i = 0; i < reads.size(); ++i) {
        point.reads[i].error = check.error_of(reads[i]);
        point.reads[i].benchmark_us = google_benchmark_us(reads[i].name(), [&] {
            if (timing_options.before_sample) {
                timing_options.before_sample();
            }
            reads[i]();
        });
    }
    return point;
}
//! [measure]

}  // namespace nanoserve::day20
