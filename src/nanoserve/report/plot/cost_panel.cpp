// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <nanoserve/report/number_text.hpp>
#include <nanoserve/report/plot/paged_read_panels.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

namespace nanoserve::report {
namespace {

constexpr const char* kNoValue = "–";

std::string fixed_floor(const ReadCurve& curve) {
    return curve.fit ? duration_text(curve.fit->floor_us) : kNoValue;
}

std::string cost_of_a_token(const ReadCurve& curve) {
    return curve.fit ? duration_text(curve.fit->us_per_token) : kNoValue;
}

std::string crossover(const ReadCurve& curve) {
    if (!curve.fit) {
        return kNoValue;
    }
    const std::optional<double> tokens = curve.fit->crossover_tokens();
    return tokens ? digits_text(*tokens, 2) : "none";
}

std::string last_leg_ratio(const ReadCurve& curve) {
    const std::optional<LastLeg> leg = last_leg(curve);
    return leg ? ratio_text(leg->cost_ratio) + " ×" : kNoValue;
}

// "1024 → 4096" when all reads have the same last leg.
std::string last_leg_label(const PagedReadFacts& facts) {
    const std::optional<LastLeg> leg = last_leg(facts.reads.front());
    const bool is_shared =
        std::all_of(facts.reads.begin(), facts.reads.end(), [&](const auto& curve) {
            const std::optional<LastLeg> other = last_leg(curve);
            return leg && other && other->from == leg->from && other->to == leg->to;
        });
    return is_shared ? fmt::format("{} → {}", leg->from, leg->to) : "last leg";
}

const char* growth(const LastLeg& leg) {
    const double excess = leg.cost_ratio / leg.history_ratio;
    return excess > 1.1   ? "more than in proportion"
           : excess < 0.9 ? "less than in proportion"
                          : "in proportion";
}

// The read that the sentences are about: the one that is fastest at the longest history.
const ReadCurve& leader(const PagedReadFacts& facts) {
    return *std::min_element(
        facts.reads.begin(), facts.reads.end(), [](const auto& a, const auto& b) {
            const auto& [a_last, b_last] = std::pair(a.longest(), b.longest());
            return a_last.seq_len != b_last.seq_len ? a_last.seq_len > b_last.seq_len
                                                    : a_last.best_us < b_last.best_us;
        });
}

// A ratio of histories is a whole number more often than not.
std::string plain_ratio(double ratio) {
    return ratio == std::round(ratio) ? fmt::format("{:.0f}", ratio) : ratio_text(ratio);
}

std::string leg_sentence(const ReadCurve& curve, const LastLeg& leg) {
    return fmt::format("From {} to {} tokens, {} times the history costs {} {} times as much: {}.",
                       leg.from, leg.to, plain_ratio(leg.history_ratio), curve.read,
                       ratio_text(leg.cost_ratio), growth(leg));
}

std::string fit_sentence(const ReadCurve& curve) {
    const ReadCostFit& fit = *curve.fit;
    const double error = 100 * fit.max_relative_residual;
    const std::string bound = error < 0.1 ? "0.1" : digits_text(error, 2);
    const std::string shape = fit.floor_us > 0 ? "floor + tokens × slope" : "tokens × slope";
    return fmt::format("Fit of {}: {}, off by at most {}\u00a0%.", curve.read, shape, bound);
}

}  // namespace

Panel cost_panel(const PagedReadFacts& facts) {
    Panel panel = detail::start_panel("Where the cost lives", facts);
    detail::add_row(panel, "fixed floor", facts, fixed_floor);
    detail::add_row(panel, "each token", facts, cost_of_a_token);
    detail::add_row(panel, "crossover, tokens", facts, crossover);
    detail::add_row(panel, last_leg_label(facts), facts, last_leg_ratio);
    const ReadCurve& curve = leader(facts);
    const std::optional<LastLeg> leg = last_leg(curve);
    if (!leg || !curve.fit) {
        detail::add_sentence(
            panel, "One history gives no slope: measure a second one to see where the cost lives.");
        return panel;
    }
    detail::add_sentence(panel, leg_sentence(curve, *leg));
    detail::add_sentence(panel, fit_sentence(curve));
    const std::optional<double> tokens = curve.fit->crossover_tokens();
    if (tokens && *tokens >= static_cast<double>(curve.shortest().seq_len)) {
        detail::add_sentence(panel,
                             fmt::format("Below {} tokens the fixed floor outweighs the read.",
                                         digits_text(*tokens, 2)));
    }
    return panel;
}

}  // namespace nanoserve::report
