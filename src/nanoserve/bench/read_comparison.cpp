// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <nanoserve/bench/read_comparison.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <stdexcept>
#include <string>

namespace nanoserve {
namespace {

//! [log ratios]
// log(baseline / candidate) of each pair: 0 is a tie, and swapping the two reads flips the sign.
// There are none when the clock is too coarse, because log 0 does not exist.
std::vector<double> log_ratios(const ReadComparison& comparison) {
    std::vector<double> ratios;
    if (comparison.clock_too_coarse()) {
        return ratios;
    }
    for (const SamplePair& pair : comparison.pairs) {
        ratios.push_back(std::log(pair.baseline_ns) - std::log(pair.candidate_ns));
    }
    return ratios;
}
//! [log ratios]

std::optional<double> finite_ratio(double ratio) {
    return ratio > 0 && std::isfinite(ratio) ? std::optional(ratio) : std::nullopt;
}

// How many decimals it takes to see the first digit of `value` that is not 0.
int decimals_to(double value) {
    return value > 0 ? -static_cast<int>(std::floor(std::log10(value))) : 0;
}

// Two decimals and a point, whatever the locale says; more where two would hide how far the ratio
// is from 1, which is what the verdict rests on, or leave less than two digits of it.
std::string ratio_text(double ratio) {
    const int num_decimals =
        std::max({2, decimals_to(std::abs(ratio - 1)), decimals_to(ratio) + 1});
    std::array<char, 400>
        text{};  // a double has at most 309 digits before the point, or 326 behind
    const auto end = std::to_chars(text.data(), text.data() + text.size(), ratio,
                                   std::chars_format::fixed, num_decimals);
    return std::string(text.data(), end.ptr);
}

std::string describe_verdict(const ReadComparison& comparison) {
    const Verdict verdict = comparison.verdict();
    if (verdict == Verdict::none) {
        return "no verdict";
    }
    std::string text(to_string(verdict));
    if (const auto interval = comparison.ratio_interval()) {
        text += " (95 % interval " + ratio_text(interval->low) + " to " +
                ratio_text(interval->high) + ")";
    }
    return text;
}

}  // namespace

std::string_view to_string(Verdict verdict) {
    switch (verdict) {
        case Verdict::none:
            return "";
        case Verdict::faster:
            return "faster";
        case Verdict::slower:
            return "slower";
        case Verdict::no_difference:
            return "no difference";
    }
    return "";
}

ReadComparison::ReadComparison(std::span<const double> baseline_ns,
                               std::span<const double> candidate_ns, std::size_t calls_per_sample,
                               SampleCount count)
    : baseline(baseline_ns, calls_per_sample),
      candidate(candidate_ns, calls_per_sample),
      sample_count(count) {
    if (baseline_ns.size() != candidate_ns.size()) {
        throw std::invalid_argument("ReadComparison: " + std::to_string(baseline_ns.size()) +
                                    " baseline and " + std::to_string(candidate_ns.size()) +
                                    " candidate samples; each needs its partner");
    }
    for (std::size_t i = 0; i < baseline_ns.size(); ++i) {
        if (is_usable(baseline_ns[i]) && is_usable(candidate_ns[i])) {
            pairs.push_back({baseline_ns[i], candidate_ns[i]});
        } else {
            ++num_dropped_pairs;
        }
    }
}

bool ReadComparison::clock_too_coarse() const {
    return baseline.clock_too_coarse() || candidate.clock_too_coarse();
}

//! [speedup]
std::optional<double> ReadComparison::speedup() const {
    const auto baseline_best = baseline.best_ns();
    const auto candidate_best = candidate.best_ns();
    if (!baseline_best || !candidate_best) {
        return std::nullopt;
    }
    return finite_ratio(*baseline_best / *candidate_best);
}
//! [speedup]

std::optional<double> ReadComparison::median_ratio() const {
    const auto log_median = median(log_ratios(*this));
    return log_median ? finite_ratio(std::exp(*log_median)) : std::nullopt;
}

std::optional<Interval> ReadComparison::ratio_interval() const {
    const auto log_interval = median_interval(log_ratios(*this));
    if (!log_interval) {
        return std::nullopt;
    }
    const auto low = finite_ratio(std::exp(log_interval->low));
    const auto high = finite_ratio(std::exp(log_interval->high));
    return low && high ? std::optional(Interval{*low, *high}) : std::nullopt;
}

//! [verdict]
Verdict ReadComparison::verdict() const {
    const auto interval = ratio_interval();
    if (!interval || sample_count == SampleCount::by_stop_rule) {
        return Verdict::none;
    }
    if (interval->low > 1) {
        return Verdict::faster;
    }
    return interval->high < 1 ? Verdict::slower : Verdict::no_difference;
}
//! [verdict]

std::string describe(const ReadComparison& comparison) {
    if (comparison.clock_too_coarse()) {
        return "no speedup: the clock is too coarse, take more calls per sample";
    }
    if (comparison.baseline.samples_ns().empty() || comparison.candidate.samples_ns().empty()) {
        return "no speedup: no usable samples";
    }
    const auto speedup = comparison.speedup();
    if (!speedup) {
        return "no speedup: the samples are usable, but their ratio is beyond a double";
    }
    return "speedup " + ratio_text(*speedup) + ", " + describe_verdict(comparison);
}

}  // namespace nanoserve
