// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include "sweep.hpp"

#include "second_opinion.hpp"

#include <nanoserve/attention/attention_oracle.hpp>
#include <nanoserve/attention/gather_read.hpp>
#include <nanoserve/attention/paged_attention_reference.hpp>
#include <nanoserve/attention/rounding_bound.hpp>
#include <nanoserve/bench/clock.hpp>
#include <nanoserve/bench/compare_reads.hpp>
#include <nanoserve/bench/time_read.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <vector>

namespace nanoserve::day20 {
namespace {

using Read = void (*)(const PagedAttentionParams&, ReadContext&);

// One read with its output; calling it reads the current history.
struct TimedRead {
    Read read;
    const char* name;
    SyntheticHistory& history;
    ReadContext& context;
    std::vector<float> out;

    void operator()() {
        PagedAttentionParams params = history.params();
        params.out = out.data();
        read(params, context);
    }
};

// Compares both reads with each other and with the oracle, from outputs that hold NaN before.
class EqualityCheck {
  public:
    EqualityCheck(TimedRead& gather, TimedRead& fused)
        : gather_(gather),
          fused_(fused),
          oracle_(attention_oracle(gather.history.params())),
          bound_(rounding_bound(gather.history.params())) {}

    void operator()() {
        read_into_nan(gather_);
        read_into_nan(fused_);
        for (std::size_t i = 0; i < oracle_.out.size(); ++i) {
            require_equal(i);
            require_close(gather_, i);
        }
    }

    [[nodiscard]] double error_of(const TimedRead& read) const {
        return relative_error(read.out.data(), DType::fp32, oracle_);
    }

  private:
    static void read_into_nan(TimedRead& read) {
        std::ranges::fill(read.out, std::numeric_limits<float>::quiet_NaN());
        read();
    }

    void require_equal(std::size_t i) const {
        if (std::memcmp(&gather_.out[i], &fused_.out[i], sizeof(float)) != 0) {
            throw std::runtime_error(
                fmt::format("at {} tokens element {} of the output is {} gathered and {} fused",
                            tokens(), i, gather_.out[i], fused_.out[i]));
        }
    }

    void require_close(const TimedRead& read, std::size_t i) const {
        if (!(std::abs(double{read.out[i]} - oracle_.out[i]) <= bound_)) {
            throw std::runtime_error(
                fmt::format("at {} tokens element {} of the output is {}, the oracle's is {}; "
                            "rounding explains {:.2g}",
                            tokens(), i, read.out[i], oracle_.out[i], bound_));
        }
    }

    [[nodiscard]] std::int64_t tokens() const { return gather_.history.spec().seq_len; }

    TimedRead& gather_;
    TimedRead& fused_;
    OracleResult oracle_;
    double bound_;
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
        const bool first = order == kFloorOrders.front();
        const bool better = timing.best_ns() &&
                            (!point.floor.best_ns() || *timing.best_ns() < *point.floor.best_ns());
        if (first || better) {
            point.floor = timing;
            point.floor_order = order;
        }
    }
}

void require_above_floor(const SweepPoint& point) {
    for (const auto& [name, timing] :
         {std::pair{"gather", &point.reads.baseline}, std::pair{"fused", &point.reads.candidate}}) {
        if (timing->best_ns() && point.floor.best_ns() &&
            *timing->best_ns() < *point.floor.best_ns()) {
            throw std::runtime_error(
                fmt::format("at {} tokens {} took {:.0f} ns, less than the read floor of {:.0f} "
                            "ns: the measurement is wrong",
                            point.seq_len, name, timing->best_ns().value_or(0.0),
                            point.floor.best_ns().value_or(0.0)));
        }
    }
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

SweepPoint measure(const Options& options, std::int64_t seq_len) {
    SyntheticHistory history = make_history(options, seq_len, options.seed());
    ReadContext context(
        {.num_threads = options.num_threads, .instruction_set = options.instruction_set});
    const auto num_out = static_cast<std::size_t>(options.model.attention.num_q_heads) *
                         static_cast<std::size_t>(options.model.attention.head_dim);
    TimedRead gather{gather_read, "gather", history, context, std::vector<float>(num_out)};
    TimedRead fused{paged_attention_reference, "fused", history, context,
                    std::vector<float>(num_out)};
    EqualityCheck check(gather, fused);

    TimingOptions timing_options{.num_samples = options.num_samples};
    if (options.cache == CacheState::cold) {
        timing_options.before_sample = [&history] { history.rotate(); };
    } else {
        timing_options.settle_calls =
            1;  // gather's copy would push fused's history out of the caches
    }
    SweepPoint point{.seq_len = seq_len,
                     .kv_bytes = options.model.attention.kv_bytes(seq_len, options.dtype)};
    time_floor(timing_options, history, context, point);

    timing_options.check = on_first_history(history, check);
    SteadyClock clock;
    point.reads = compare_reads(clock, gather, fused, timing_options);
    point.gather_error = check.error_of(gather);
    point.fused_error = check.error_of(fused);
    require_above_floor(point);

    const auto rotated = [&](TimedRead& read) {
        return [&] {
            if (timing_options.before_sample) {
                timing_options.before_sample();
            }
            read();
        };
    };
    point.gather_benchmark_us = google_benchmark_us(gather.name, rotated(gather));
    point.fused_benchmark_us = google_benchmark_us(fused.name, rotated(fused));
    return point;
}

}  // namespace nanoserve::day20
