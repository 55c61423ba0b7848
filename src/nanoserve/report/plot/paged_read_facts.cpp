// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <nanoserve/report/plot/paged_read_facts.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <stdexcept>

namespace nanoserve::report {
namespace {

constexpr const char* kFloorRead = "read_floor";

// gather, fused, then the order of the file.
std::vector<std::string> read_names(std::span<const ReadRow> rows) {
    std::vector<std::string> names = {"gather", "fused"};
    for (const ReadRow& row : rows) {
        if (row.read != kFloorRead &&
            std::find(names.begin(), names.end(), row.read) == names.end()) {
            names.push_back(row.read);
        }
    }
    return names;
}

std::optional<double> best_at(std::span<const CostAtHistory> points, std::int64_t seq_len) {
    const auto found = std::find_if(points.begin(), points.end(),
                                    [&](const auto& point) { return point.seq_len == seq_len; });
    return found == points.end() ? std::nullopt : std::optional(found->best_us);
}

std::optional<ReadCostFit> fit_of(std::span<const CostAtHistory> points) {
    std::vector<CostPoint> costs;
    for (const CostAtHistory& point : points) {
        costs.push_back({static_cast<double>(point.seq_len), point.best_us});
    }
    return fit_read_cost(costs);
}

// The verdict judges paired samples, the speedup compares two bests. Where they point in opposite
// directions, no difference is all that may be claimed.
Outcome outcome_of(std::string_view verdict, double speedup) {
    const bool is_close = std::abs(std::log(speedup)) <= std::log(1.05);
    const bool is_known = verdict == "faster" || verdict == "slower";
    if (verdict == "no difference" || (!is_known && is_close) ||
        (verdict == "faster" && speedup <= 1) || (verdict == "slower" && speedup >= 1)) {
        return Outcome::kNoDifference;
    }
    return speedup > 1 ? Outcome::kFaster : Outcome::kSlower;
}

std::string verdict_of(std::span<const ReadRow> rows, const std::string& read,
                       std::int64_t seq_len) {
    const auto row = std::find_if(rows.begin(), rows.end(), [&](const ReadRow& candidate) {
        return candidate.read == read && candidate.seq_len == seq_len;
    });
    return row == rows.end() ? "" : row->verdict;
}

void compare_with_floor(ReadCurve& curve, std::span<const CostAtHistory> floor) {
    for (CostAtHistory& point : curve.points) {
        if (const auto floor_us = best_at(floor, point.seq_len)) {
            point.times_floor = point.best_us / *floor_us;
        }
    }
}

void compare_with_first(ReadCurve& curve, const ReadCurve& first, std::span<const ReadRow> rows) {
    for (CostAtHistory& point : curve.points) {
        if (const auto first_us = best_at(first.points, point.seq_len)) {
            point.speedup = *first_us / point.best_us;
            point.outcome = outcome_of(verdict_of(rows, curve.read, point.seq_len), *point.speedup);
        }
    }
}

}  // namespace

bool is_drawable(std::optional<double> us) {
    return us && *us >= 1e-9 && *us <= 1e15;
}

std::vector<CostAtHistory> cost_points(std::span<const ReadRow> rows, std::string_view read) {
    std::vector<CostAtHistory> points;
    for (const ReadRow& row : rows) {
        if (row.read != read || !is_drawable(row.best_us) || row.seq_len <= 0) {
            continue;
        }
        CostAtHistory point;
        point.seq_len = row.seq_len;
        point.best_us = *row.best_us;
        if (is_drawable(row.lo_us) && is_drawable(row.hi_us) && *row.hi_us >= *row.lo_us) {
            point.lo_us = row.lo_us;
            point.hi_us = row.hi_us;
        }
        points.push_back(point);
    }
    std::sort(points.begin(), points.end(),
              [](const auto& a, const auto& b) { return a.seq_len < b.seq_len; });
    const auto twice =
        std::adjacent_find(points.begin(), points.end(),
                           [](const auto& a, const auto& b) { return a.seq_len == b.seq_len; });
    if (twice != points.end()) {
        throw std::invalid_argument(fmt::format(
            "read \"{}\" has two rows for {} tokens: a picture shows one machine, dtype, "
            "thread count and shape at a time",
            read, twice->seq_len));
    }
    return points;
}

PagedReadFacts paged_read_facts(std::span<const ReadRow> rows) {
    PagedReadFacts facts{.reads = {}, .floor = cost_points(rows, kFloorRead)};
    for (const std::string& name : read_names(rows)) {
        if (std::vector<CostAtHistory> points = cost_points(rows, name); !points.empty()) {
            const std::optional<ReadCostFit> fit = fit_of(points);
            facts.reads.push_back({.read = name, .points = std::move(points), .fit = fit});
        }
    }
    if (facts.reads.empty()) {
        throw std::invalid_argument(
            "there is no row with a best_us that can be drawn: nothing to draw");
    }
    for (ReadCurve& curve : facts.reads) {
        compare_with_floor(curve, facts.floor);
    }
    for (ReadCurve& curve : std::span(facts.reads).subspan(1)) {
        compare_with_first(curve, facts.reads.front(), rows);
    }
    return facts;
}

std::optional<LastLeg> last_leg(const ReadCurve& curve) {
    if (curve.points.size() < 2) {
        return std::nullopt;
    }
    const CostAtHistory& from = *std::prev(curve.points.end(), 2);
    const CostAtHistory& to = curve.longest();
    return LastLeg{
        .from = from.seq_len,
        .to = to.seq_len,
        .history_ratio = static_cast<double>(to.seq_len) / static_cast<double>(from.seq_len),
        .cost_ratio = to.best_us / from.best_us};
}

const CostAtHistory* ReadCurve::longest_shared() const {
    const auto found = std::find_if(points.rbegin(), points.rend(),
                                    [](const auto& point) { return point.outcome.has_value(); });
    return found == points.rend() ? nullptr : &*found;
}

std::optional<std::size_t> challenger(const PagedReadFacts& facts) {
    std::optional<std::size_t> best;
    double best_speedup = 0;
    for (std::size_t i = 1; i < facts.reads.size(); ++i) {
        const CostAtHistory* shared = facts.reads[i].longest_shared();
        if (shared != nullptr && *shared->speedup > best_speedup) {
            best = i;
            best_speedup = *shared->speedup;
        }
    }
    return best;
}

}  // namespace nanoserve::report
