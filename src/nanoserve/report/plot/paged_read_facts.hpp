// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// What the rows of a benchmark say about paged reads, as numbers. No text, no picture.
#pragma once

#include <nanoserve/bench/fit_read_cost.hpp>
#include <nanoserve/report/read_row.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace nanoserve::report {

/// How a read fares against the first one on the same history.
enum class Outcome { kFaster, kSlower, kNoDifference };

/// One read on one history; microseconds.
struct CostAtHistory {
    std::int64_t seq_len = 0;
    double best_us = 0;
    std::optional<double> lo_us;  ///< present together with hi_us
    std::optional<double> hi_us;
    std::optional<double> times_floor;  ///< best_us / best of the read floor on this history
    std::optional<double> speedup;      ///< best of the first read / best_us
    /// What may be claimed against the first read; absent where there is no verdict against it
    std::optional<Outcome> outcome;
};

/// One read over all its histories, shortest first; never empty.
struct ReadCurve {
    std::string read;
    std::vector<CostAtHistory> points;
    std::optional<ReadCostFit> fit;  ///< absent with fewer than two histories

    [[nodiscard]] const CostAtHistory& shortest() const { return points.front(); }
    [[nodiscard]] const CostAtHistory& longest() const { return points.back(); }
    /// The longest history with an outcome against the first read, or nullptr; nullptr for the
    /// first read itself.
    [[nodiscard]] const CostAtHistory* longest_shared() const;
};

/// The last leg of a curve: how the cost grew from the last history but one to the last.
struct LastLeg {
    std::int64_t from = 0;
    std::int64_t to = 0;
    double history_ratio = 0;
    double cost_ratio = 0;
};

/// First comes the read that the rows were compared with, where they name one; then "gather" and
/// "fused" where present, then the others as they occur in the rows. The rows of "read_floor" are
/// not among the reads.
struct PagedReadFacts {
    std::vector<ReadCurve> reads;
    std::vector<CostAtHistory> floor;  ///< shortest first; may be empty
};

/// Whether a logarithmic axis can show this time: there is one, from a femtosecond to about thirty
/// years. What lies beyond is no measurement, and a margin around it would leave the doubles.
[[nodiscard]] bool is_drawable(std::optional<double> us);

/// The points of one read, shortest history first. Rows without a drawable best_us are left out.
/// Throws `std::invalid_argument` when there are two rows for one history.
[[nodiscard]] std::vector<CostAtHistory> cost_points(std::span<const ReadRow> rows,
                                                     std::string_view read);

/// Sorts out the rows. Rows without a drawable best_us are left out.
///
/// A history's baseline is the only read of it that has neither speedup nor verdict while another
/// has: the others were compared with it. The baseline of the first row whose history has one
/// becomes the first read, and a verdict counts only on histories whose baseline that is. Without a
/// verdict nothing is claimed, whatever the bests: there is a speedup and no outcome. A verdict
/// that the bests contradict counts as no difference.
///
/// Throws `std::invalid_argument` when a read has two rows for one history, and when no read is
/// left.
[[nodiscard]] PagedReadFacts paged_read_facts(std::span<const ReadRow> rows);

/// Absent with fewer than two histories.
[[nodiscard]] std::optional<LastLeg> last_leg(const ReadCurve& curve);

/// The read to set against the first: the fastest of the others on the longest history on which
/// each has an outcome. Absent when no other read has one.
[[nodiscard]] std::optional<std::size_t> challenger(const PagedReadFacts& facts);

}  // namespace nanoserve::report
