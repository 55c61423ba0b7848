// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <nanoserve/report/plot/paged_read_facts.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <stdexcept>

namespace nanoserve::report {
namespace {

constexpr const char* kFloorRead = "read_floor";

// The read that the others of this history were compared with: the only one that was compared with
// none itself. Nothing when there is no such read, or when it could be either of two.
std::optional<std::string> baseline_at(std::span<const ReadRow> rows, std::int64_t seq_len) {
    const ReadRow* baseline = nullptr;
    bool has_candidate = false;
    for (const ReadRow& row : rows) {
        if (row.seq_len != seq_len || row.read == kFloorRead || !is_drawable(row.best_us)) {
            continue;
        }
        if (row.speedup || !row.verdict.empty()) {
            has_candidate = true;
        } else if (baseline != nullptr) {
            return std::nullopt;
        } else {
            baseline = &row;
        }
    }
    return baseline != nullptr && has_candidate ? std::optional(baseline->read) : std::nullopt;
}

// The baseline of the rows, where they have one; gather, fused, then the order of the file.
std::vector<std::string> read_names(std::span<const ReadRow> rows) {
    std::vector<std::string> names = {"gather", "fused"};
    for (const ReadRow& row : rows) {
        if (const auto baseline = baseline_at(rows, row.seq_len)) {
            std::erase(names, *baseline);
            names.insert(names.begin(), *baseline);
            break;
        }
    }
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
std::optional<Outcome> outcome_of(std::string_view verdict, double speedup) {
    if (verdict == "faster") {
        return speedup > 1 ? Outcome::kFaster : Outcome::kNoDifference;
    }
    if (verdict == "slower") {
        return speedup < 1 ? Outcome::kSlower : Outcome::kNoDifference;
    }
    return verdict == "no difference" ? std::optional(Outcome::kNoDifference) : std::nullopt;
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
            if (baseline_at(rows, point.seq_len) == first.read) {
                point.outcome =
                    outcome_of(verdict_of(rows, curve.read, point.seq_len), *point.speedup);
            }
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
