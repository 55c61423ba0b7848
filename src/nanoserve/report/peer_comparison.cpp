// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <nanoserve/report/number_text.hpp>
#include <nanoserve/report/peer_comparison.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

namespace nanoserve::report {
namespace {

// From a femtosecond to thirty years: what lies beyond is no measurement.
bool is_time(double us) {
    return us >= 1e-9 && us <= 1e15;
}

bool is_ceiling(const PeerRow& row) {
    return row.peer.starts_with("load_only");
}

bool same_cell(const ReadRow& a, const ReadRow& b) {
    const auto key = [](const ReadRow& row) {
        return std::tie(row.num_q_heads, row.num_kv_heads, row.head_dim, row.dtype, row.num_seqs,
                        row.seq_len, row.pattern, row.block_size);
    };
    return key(a) == key(b);
}

bool same_cell(const PeerRow& peer, const ReadRow& row) {
    return peer.num_q_heads == row.num_q_heads && peer.num_kv_heads == row.num_kv_heads &&
           peer.head_dim == row.head_dim && peer.kv_dtype == row.dtype &&
           peer.num_seqs == row.num_seqs && peer.seq_len == row.seq_len &&
           row.pattern == (peer.ragged ? "ragged" : "uniform");
}

std::vector<PeerRow> peers_of(std::span<const PeerRow> peers, const ReadRow& row) {
    std::vector<PeerRow> found;
    std::ranges::copy_if(peers, std::back_inserter(found),
                         [&](const PeerRow& peer) { return same_cell(peer, row); });
    return found;
}

std::vector<PeerTime> times_of(std::span<const PeerRow> peers) {
    const auto ceiling = std::ranges::find(peers, "load_only_nhd", &PeerRow::peer);
    std::vector<PeerTime> times;
    if (ceiling == peers.end() || !is_time(ceiling->best_us)) {
        return times;
    }
    for (const PeerRow& peer : peers) {
        if (!is_ceiling(peer) && is_time(peer.best_us)) {
            times.push_back({peer.peer, peer.best_us, peer.best_us / ceiling->best_us});
        }
    }
    std::ranges::sort(times, {}, &PeerTime::best_us);
    return times;
}

// Ours on the cell of a row: the read that the peers' file has as its ceiling, or nothing.
std::optional<double> ruler_us(std::span<const ReadRow> rows, const ReadRow& row) {
    const auto found = std::ranges::find_if(rows, [&](const ReadRow& other) {
        return other.read == "load_only_by_head" && is_time(other.best_us.value_or(0)) &&
               same_cell(other, row);
    });
    return found == rows.end() ? std::nullopt : found->best_us;
}

double best_peer_us(std::span<const PeerRow> peers) {
    double best_us = HUGE_VAL;
    for (const PeerRow& peer : peers) {
        if (!is_ceiling(peer) && is_time(peer.best_us)) {
            best_us = std::min(best_us, peer.best_us);
        }
    }
    return best_us;
}

// How many times as long the load-only read of bf16 takes in our run as in the peers', on the cell
// of a row.
std::optional<double> slower_card(ReadRow row, std::span<const PeerRow> peers,
                                  std::span<const ReadRow> bf16_rows) {
    row.dtype = "bf16";
    const std::vector<PeerRow> theirs = peers_of(peers, row);
    const auto ceiling = std::ranges::find(theirs, "load_only_nhd", &PeerRow::peer);
    const std::optional<double> ours = ruler_us(bf16_rows, row);
    if (ceiling == theirs.end() || !is_time(ceiling->best_us) || !ours) {
        return {};
    }
    return *ours / ceiling->best_us;
}

double geometric_mean(std::span<const double> values) {
    double sum = 0;
    for (const double value : values) {
        sum += std::log(value);
    }
    return std::exp(sum / static_cast<double>(values.size()));
}

double geometric_mean(std::span<const PeerCell> cells, double (*value)(const PeerCell&)) {
    std::vector<double> values;
    std::ranges::transform(cells, std::back_inserter(values), value);
    return geometric_mean(values);
}

PeerClaims claims_of_one(std::span<const PeerCell> cells) {
    PeerClaims claims;
    claims.head_dim = cells.front().head_dim;
    claims.num_cells = cells.size();
    claims.mean_speedup =
        geometric_mean(cells, [](const PeerCell& cell) { return cell.speedup(); });
    claims.mean_speedup_nhd =
        geometric_mean(cells, [](const PeerCell& cell) { return cell.speedup_nhd(); });
    claims.mean_direct_speedup =
        geometric_mean(cells, [](const PeerCell& cell) { return cell.direct_speedup(); });
    claims.mean_times_ceiling =
        geometric_mean(cells, [](const PeerCell& cell) { return cell.our_times_nhd; });
    claims.least_speedup = HUGE_VAL;
    for (const PeerCell& cell : cells) {
        claims.least_speedup = std::min(claims.least_speedup, cell.speedup());
        claims.largest_times_ceiling = std::max(claims.largest_times_ceiling, cell.our_times_nhd);
        claims.num_level += cell.is_level() ? 1 : 0;
        if (cell.is_lost()) {
            claims.lost.push_back(cell);
        }
    }
    return claims;
}

std::string lost_text(const PeerCell& cell) {
    return fmt::format("  lost: {} sequence{} of {} tokens{}: {} times its ceiling, {} {} times\n",
                       cell.num_seqs, cell.num_seqs == 1 ? "" : "s", cell.seq_len,
                       cell.ragged ? ", ragged" : "", ratio_text(cell.our_times),
                       cell.peers.front().peer, ratio_text(cell.peers.front().times));
}

}  // namespace

std::vector<PeerCell> compare_with_peers(std::span<const ReadRow> rows, std::string_view read,
                                         std::span<const PeerRow> peers) {
    std::vector<PeerCell> cells;
    for (const ReadRow& row : rows) {
        if (row.read != read || !is_time(row.best_us.value_or(0)) ||
            !is_time(row.floor_us.value_or(0))) {
            continue;
        }
        std::vector<PeerTime> times = times_of(peers_of(peers, row));
        if (!times.empty()) {
            cells.push_back(
                {.head_dim = row.head_dim,
                 .num_seqs = row.num_seqs,
                 .seq_len = row.seq_len,
                 .ragged = row.pattern == "ragged",
                 .our_us = *row.best_us,
                 .our_times = *row.best_us / ruler_us(rows, row).value_or(*row.floor_us),
                 .peers = std::move(times),
                 .our_times_nhd = *row.best_us / *row.floor_us});
        }
    }
    return cells;
}

std::vector<PeerClaims> claims_of(std::span<const PeerCell> cells) {
    std::map<std::int64_t, std::vector<PeerCell>> by_head_dim;
    for (const PeerCell& cell : cells) {
        by_head_dim[cell.head_dim].push_back(cell);
    }
    std::vector<PeerClaims> claims;
    for (const auto& [head_dim, its_cells] : by_head_dim) {
        claims.push_back(claims_of_one(its_cells));
    }
    return claims;
}

std::string format_claims(std::span<const PeerClaims> claims) {
    std::string text;
    for (const PeerClaims& each : claims) {
        text += fmt::format(
            "head_dim {}, {} cells: {} times as fast as the best peer by the geometric mean of "
            "time over the same load-only read\n(by our own, faster one on our side: {}; by the "
            "times as measured, on another card: {}); least {}; {} level within 2 %, {} cell{} "
            "lost\n  times our own load-only: mean {}, at most {}\n",
            each.head_dim, each.num_cells, ratio_text(each.mean_speedup),
            ratio_text(each.mean_speedup_nhd), ratio_text(each.mean_direct_speedup),
            ratio_text(each.least_speedup), each.num_level, each.lost.size(),
            each.lost.size() == 1 ? "" : "s", ratio_text(each.mean_times_ceiling),
            ratio_text(each.largest_times_ceiling));
        for (const PeerCell& cell : each.lost) {
            text += lost_text(cell);
        }
    }
    return text;
}

std::vector<DirectClaims> direct_claims(std::span<const ReadRow> rows, std::string_view read,
                                        std::span<const PeerRow> peers,
                                        std::span<const ReadRow> bf16_rows) {
    struct Speedups {
        std::vector<double> direct, ruled;
    };
    std::map<std::int64_t, Speedups> speedups;  // by head_dim
    for (const ReadRow& row : rows) {
        const double best_us = best_peer_us(peers_of(peers, row));
        if (row.read != read || !is_time(row.best_us.value_or(0)) || !is_time(best_us)) {
            continue;
        }
        Speedups& its = speedups[row.head_dim];
        its.direct.push_back(best_us / *row.best_us);
        if (const auto slower = slower_card(row, peers, bf16_rows)) {
            its.ruled.push_back(its.direct.back() * *slower);
        }
    }
    std::vector<DirectClaims> claims;
    for (const auto& [head_dim, its] : speedups) {
        claims.push_back({.head_dim = head_dim,
                          .num_cells = its.direct.size(),
                          .mean_speedup = geometric_mean(its.direct),
                          .least_speedup = std::ranges::min(its.direct)});
        if (its.ruled.size() == its.direct.size()) {
            claims.back().mean_ruled_speedup = geometric_mean(its.ruled);
        }
    }
    return claims;
}

}  // namespace nanoserve::report
