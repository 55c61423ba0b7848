// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// Our read against others', through a ruler: cards and runs differ by a few percent, so a time is
// first divided by that of the load-only read of its own run. Fastest samples throughout. The ruler
// is the same read on both sides: what the peers' file calls load_only_nhd is our
// load_only_by_head. Our own load_only_nhd is faster; what it says is kept beside.
#pragma once

#include <nanoserve/report/peer_row.hpp>
#include <nanoserve/report/read_row.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace nanoserve::report {

/// A peer on one cell.
struct PeerTime {
    std::string peer;    ///< "flashinfer_cc", ...
    double best_us = 0;  ///< as it was measured
    double times = 0;    ///< over load_only_nhd of the peers' run
};

/// One cell on which both were measured.
struct PeerCell {
    std::int64_t head_dim = 0;    ///< elements of one head
    std::int64_t num_seqs = 0;    ///< sequences in the batch
    std::int64_t seq_len = 0;     ///< tokens of one sequence (the mean when ragged)
    bool ragged = false;          ///< lengths differ
    double our_us = 0;            ///< as it was measured
    double our_times = 0;         ///< over load_only_by_head of our run; without one, load_only_nhd
    std::vector<PeerTime> peers;  ///< the fastest first; never empty
    double our_times_nhd = 0;     ///< over load_only_nhd of our run

    /// The best peer's multiple of its ceiling over ours of our own: above 1, we are faster.
    [[nodiscard]] double speedup() const { return peers.front().times / our_times; }
    /// The same with our own, faster ceiling on our side only.
    [[nodiscard]] double speedup_nhd() const { return peers.front().times / our_times_nhd; }
    /// The same from the times as they were measured, on another card.
    [[nodiscard]] double direct_speedup() const { return peers.front().best_us / our_us; }
    /// Within 2 % of the best peer: two runs differ by as much, so that this is no difference.
    [[nodiscard]] bool is_level() const { return speedup() > 0.98 && speedup() < 1.02; }
    /// Slower than the best peer, by more than that.
    [[nodiscard]] bool is_lost() const { return speedup() <= 0.98; }
};

/// The cells that `rows` of the read `read` and `peers` of the same dtype share, in the order of
/// `rows`. A cell of ours without a ceiling, and a cell whose peers have none, is left out; so is a
/// time that can't be one, such as 0.
[[nodiscard]] std::vector<PeerCell> compare_with_peers(std::span<const ReadRow> rows,
                                                       std::string_view read,
                                                       std::span<const PeerRow> peers);

/// What may be said about the cells of one head_dim.
struct PeerClaims {
    std::int64_t head_dim = 0;         ///< elements of one head
    std::size_t num_cells = 0;         ///< at least 1
    double mean_speedup = 0;           ///< geometric mean of speedup()
    double mean_speedup_nhd = 0;       ///< geometric mean of speedup_nhd()
    double mean_direct_speedup = 0;    ///< geometric mean of direct_speedup()
    double least_speedup = 0;          ///< in the cell that is closest or lost
    std::vector<PeerCell> lost;        ///< cells with is_lost()
    std::size_t num_level = 0;         ///< cells with is_level()
    double mean_times_ceiling = 0;     ///< geometric mean of our_times_nhd
    double largest_times_ceiling = 0;  ///< of our_times_nhd
};

/// The claims of each head_dim, ascending.
[[nodiscard]] std::vector<PeerClaims> claims_of(std::span<const PeerCell> cells);

/// The claims in words: a paragraph for each head_dim and a line for each cell that is lost.
[[nodiscard]] std::string format_claims(std::span<const PeerClaims> claims);

/// What may be said of peers whose file has no ceiling: the times as they were measured, on other
/// cards.
struct DirectClaims {
    std::int64_t head_dim = 0;  ///< elements of one head
    std::size_t num_cells = 0;  ///< at least 1
    double mean_speedup = 0;    ///< geometric mean of the best peer's time over ours
    double least_speedup = 0;   ///< in the cell that is closest or lost
    /// The mean where each time counts in units of the load-only read of bf16 on its cell and in
    /// its run; empty unless every cell has both
    std::optional<double> mean_ruled_speedup = {};
};

/// The direct claims of each head_dim, ascending, on the cells that `rows` of the read `read` and
/// `peers` of the same dtype share. bf16_rows: of a record on the same card, for the ceilings of
/// bf16; may be empty.
[[nodiscard]] std::vector<DirectClaims> direct_claims(std::span<const ReadRow> rows,
                                                      std::string_view read,
                                                      std::span<const PeerRow> peers,
                                                      std::span<const ReadRow> bf16_rows = {});

}  // namespace nanoserve::report
