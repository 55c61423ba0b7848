// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <nanoserve/bench/read_timing.hpp>

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace nanoserve {

bool is_usable(double interval_ns) {
    return std::isfinite(interval_ns) && interval_ns >= 0;
}

ReadTiming::ReadTiming(std::span<const double> intervals_ns, std::size_t calls_per_sample)
    : calls_per_sample_(calls_per_sample) {
    if (calls_per_sample == 0) {
        throw std::invalid_argument("ReadTiming: calls_per_sample is 0; it must be at least 1");
    }
    for (const double interval_ns : intervals_ns) {
        if (is_usable(interval_ns)) {
            samples_ns_.push_back(interval_ns);
        } else if (std::isfinite(interval_ns)) {
            ++num_backward_;
        } else {
            ++num_not_finite_;
        }
    }
}

bool ReadTiming::clock_too_coarse() const {
    return std::find(samples_ns_.begin(), samples_ns_.end(), 0.0) != samples_ns_.end();
}

std::optional<double> ReadTiming::best_ns() const {
    return per_call(percentile(samples_ns_, 0));
}

std::optional<double> ReadTiming::mean_ns() const {
    return per_call(mean(samples_ns_));
}

std::optional<double> ReadTiming::median_ns() const {
    return per_call(median(samples_ns_));
}

std::optional<double> ReadTiming::low_ns() const {
    return per_call(percentile(samples_ns_, 5));
}

std::optional<double> ReadTiming::high_ns() const {
    return per_call(percentile(samples_ns_, 95));
}

std::optional<double> ReadTiming::spread() const {
    const auto low = low_ns();
    const auto high = high_ns();
    const auto middle = median_ns();
    if (!low || !high || !middle) {
        return std::nullopt;
    }
    const double spread = (*high - *low) / *middle;
    return std::isfinite(spread) ? std::optional(spread) : std::nullopt;
}

std::optional<double> ReadTiming::relative_error() const {
    const auto interval = median_interval(samples_ns_);
    const auto middle = median(samples_ns_);
    if (!interval || !middle || *middle <= 0) {
        return std::nullopt;
    }
    const double error = (interval->high - interval->low) / 2 / *middle;
    return std::isfinite(error) ? std::optional(error) : std::nullopt;
}

// The one door through which a time leaves: above zero, or not at all.
std::optional<double> ReadTiming::per_call(std::optional<double> sample_ns) const {
    const double call_ns = sample_ns.value_or(0) / static_cast<double>(calls_per_sample_);
    return call_ns > 0 ? std::optional(call_ns) : std::nullopt;
}

}  // namespace nanoserve
