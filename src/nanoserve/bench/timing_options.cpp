// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <nanoserve/bench/read_timing.hpp>
#include <nanoserve/bench/timing_options.hpp>

#include <cmath>
#include <stdexcept>
#include <string>

namespace nanoserve {
namespace {

void require_at_least_one(const char* name, std::size_t value) {
    if (value == 0) {
        throw std::invalid_argument(std::string("TimingOptions: ") + name +
                                    " is 0; it must be at least 1");
    }
}

void require_valid(const StopRule& rule) {
    if (!std::isfinite(rule.relative_error) || rule.relative_error <= 0) {
        throw std::invalid_argument("StopRule: relative_error is " +
                                    std::to_string(rule.relative_error) + "; it must be above 0");
    }
    if (rule.max_samples < rule.min_samples) {
        throw std::invalid_argument("StopRule: max_samples is " + std::to_string(rule.max_samples) +
                                    "; it must be at least min_samples, which is " +
                                    std::to_string(rule.min_samples));
    }
    require_at_least_one("stop_rule.max_samples", rule.max_samples);
}

bool is_met(const StopRule& rule, std::span<const double> intervals_ns) {
    const auto error = ReadTiming(intervals_ns).relative_error();
    return error && *error <= rule.relative_error;
}

}  // namespace

void require_valid(const TimingOptions& options) {
    if (options.stop_rule) {
        require_valid(*options.stop_rule);
    } else {
        require_at_least_one("num_samples", options.num_samples);
    }
    require_at_least_one("calls_per_sample", options.calls_per_sample);
}

bool needs_another_sample(const TimingOptions& options, std::span<const double> intervals_ns) {
    const std::size_t num_taken = intervals_ns.size();
    if (!options.stop_rule) {
        return num_taken < options.num_samples;
    }
    const StopRule& rule = *options.stop_rule;
    if (num_taken < rule.min_samples) {
        return true;
    }
    return num_taken < rule.max_samples && !is_met(rule, intervals_ns);
}

}  // namespace nanoserve
