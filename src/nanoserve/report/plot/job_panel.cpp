// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <nanoserve/report/number_text.hpp>
#include <nanoserve/report/plot/paged_read_panels.hpp>

#include <fmt/core.h>

#include <algorithm>

namespace nanoserve::report {
namespace {

constexpr const char* kNoValue = "–";

std::int64_t longest_history(const PagedReadFacts& facts) {
    std::int64_t longest = 0;
    for (const ReadCurve& curve : facts.reads) {
        longest = std::max(longest, curve.longest().seq_len);
    }
    return longest;
}

const CostAtHistory* point_at(const ReadCurve& curve, std::int64_t seq_len) {
    const auto found = std::find_if(curve.points.begin(), curve.points.end(),
                                    [&](const auto& point) { return point.seq_len == seq_len; });
    return found == curve.points.end() ? nullptr : &*found;
}

// The fastest read at the longest history: the one to beat.
const ReadCurve& fastest(const PagedReadFacts& facts) {
    const std::int64_t history = longest_history(facts);
    const ReadCurve* best = nullptr;
    for (const ReadCurve& curve : facts.reads) {
        const CostAtHistory* point = point_at(curve, history);
        if (point && (!best || point->best_us < best->longest().best_us)) {
            best = &curve;
        }
    }
    return *best;
}

void add_floor_rows(Panel& panel, const PagedReadFacts& facts, std::int64_t history) {
    const auto times_floor = [&](const ReadCurve& curve) {
        const CostAtHistory* point = point_at(curve, history);
        return point ? point->times_floor : std::nullopt;
    };
    detail::add_row(panel, "× the read floor", facts, [&](const ReadCurve& curve) {
        const auto times = times_floor(curve);
        return times ? ratio_text(*times) : kNoValue;
    });
    detail::add_row(panel, "share of the floor", facts, [&](const ReadCurve& curve) {
        const auto times = times_floor(curve);
        return times ? digits_text(100 / *times, 2) + "\u00a0%" : kNoValue;
    });
}

void add_speedup_row(Panel& panel, const PagedReadFacts& facts, std::int64_t history) {
    const ReadCurve& first = facts.reads.front();
    detail::add_row(panel, fmt::format("speedup at {}", history), facts,
                    [&](const ReadCurve& curve) {
                        const CostAtHistory* point = point_at(curve, history);
                        const bool is_first = &curve == &first;
                        return !point || (!is_first && !point->speedup)
                                   ? std::string(kNoValue)
                                   : ratio_text(is_first ? 1 : *point->speedup);
                    });
}

struct OutcomeCount {
    std::size_t faster = 0;
    std::size_t slower = 0;
    std::size_t no_difference = 0;
    std::size_t no_verdict = 0;

    std::size_t total() const { return faster + slower + no_difference + no_verdict; }
};

OutcomeCount count_outcomes(const ReadCurve& curve) {
    OutcomeCount count;
    for (const CostAtHistory& point : curve.points) {
        count.faster += point.outcome == Outcome::kFaster ? 1 : 0;
        count.slower += point.outcome == Outcome::kSlower ? 1 : 0;
        count.no_difference += point.outcome == Outcome::kNoDifference ? 1 : 0;
        count.no_verdict += point.speedup && !point.outcome ? 1 : 0;
    }
    return count;
}

// What the comparison means. Only gather and fused have a known reason: the one copies the history,
// the other does not.
std::string meaning(const ReadCurve& curve, const std::string& first, const OutcomeCount& count) {
    const bool is_source_pair = first == "gather" && curve.read == "fused";
    if (count.faster == count.total()) {
        return fmt::format("{} beats {} throughout{}.", curve.read, first,
                           is_source_pair ? ": it makes no copy" : "");
    }
    if (count.slower == count.total()) {
        return fmt::format("{} loses to {} throughout{}.", curve.read, first,
                           is_source_pair ? ", though it copies nothing" : "");
    }
    if (count.no_difference == count.total()) {
        return fmt::format("{} and {} tie{}.", curve.read, first,
                           is_source_pair ? ": reading in place alone saves no time" : "");
    }
    if (count.no_verdict == count.total()) {
        return fmt::format("{} against {}: no verdict.", curve.read, first);
    }
    return fmt::format(
        "{} against {}: {} faster, {} slower, {} tied{}.", curve.read, first, count.faster,
        count.slower, count.no_difference,
        count.no_verdict > 0 ? fmt::format(", {} without a verdict", count.no_verdict) : "");
}

std::string floor_sentence(const ReadCurve& best) {
    const std::optional<double> times = best.longest().times_floor;
    if (!times) {
        return "Without a read floor the limit is unknown.";
    }
    if (*times < 1) {
        return fmt::format("{} beats its read floor: that measurement failed.", best.read);
    }
    return fmt::format("The read floor leaves room for {} times the speed.", ratio_text(*times));
}

}  // namespace

Panel job_panel(const PagedReadFacts& facts) {
    Panel panel = detail::start_panel("What the kernel's job is", facts);
    const std::int64_t history = longest_history(facts);
    const ReadCurve& best = fastest(facts);
    const ReadCurve& first = facts.reads.front();
    panel.headline =
        fmt::format("beat {} at {} tokens", duration_text(best.longest().best_us), history);
    add_floor_rows(panel, facts, history);
    if (facts.reads.size() > 1) {
        add_speedup_row(panel, facts, first.shortest().seq_len);
        if (first.shortest().seq_len != first.longest().seq_len) {
            add_speedup_row(panel, facts, first.longest().seq_len);
        }
    }
    for (const ReadCurve& curve : detail::panel_reads(facts).subspan(1)) {
        if (const OutcomeCount count = count_outcomes(curve); count.total() > 0) {
            detail::add_sentence(panel, meaning(curve, first.read, count));
        }
    }
    detail::add_sentence(panel, floor_sentence(best));
    return panel;
}

}  // namespace nanoserve::report
