// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <nanoserve/report/number_text.hpp>
#include <nanoserve/report/plot/peers_picture.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <stdexcept>
#include <tuple>

namespace nanoserve::report {
namespace {

constexpr PixelBox kBoxes[] = {{134, 1620, 494, 738}, {134, 1620, 130, 374}};
constexpr double kHighest = 4.0;  // times the ceiling; what is above is marked at the edge
constexpr double kBetween = 0.6;  // columns between two batches
constexpr CurveStyle kOurStyle = {"#0b6fb8", 7, 1.5, "solid", 1};
constexpr CurveStyle kPeerStyles[] = {{"#7048b6", 8, 1.2, "solid", 1},
                                      {"#d4550a", 6, 1.2, "solid", 1},
                                      {"#2b8a3e", 4, 1.1, "solid", 1},
                                      {"#a61e4d", 12, 1.3, "solid", 1},
                                      {"#0c8599", 10, 1.2, "solid", 1}};

std::string tokens_text(const PeerCell& cell) {
    const std::string tokens = cell.seq_len >= 1024 && cell.seq_len % 1024 == 0
                                   ? fmt::format("{}k", cell.seq_len / 1024)
                                   : fmt::format("{}", cell.seq_len);
    return cell.ragged ? tokens + " r" : tokens;
}

std::vector<PeerCell> cells_of(std::span<const PeerCell> cells, std::int64_t head_dim) {
    std::vector<PeerCell> found;
    std::ranges::copy_if(cells, std::back_inserter(found),
                         [&](const PeerCell& cell) { return cell.head_dim == head_dim; });
    std::ranges::stable_sort(found, [](const PeerCell& a, const PeerCell& b) {
        return std::tie(a.num_seqs, a.seq_len, a.ragged) <
               std::tie(b.num_seqs, b.seq_len, b.ragged);
    });
    return found;
}

// Each cell's column, batches apart.
std::vector<double> columns_of(const std::vector<PeerCell>& cells) {
    std::vector<double> columns;
    double column = 0.5;
    for (std::size_t i = 0; i < cells.size(); ++i) {
        column += i > 0 && cells[i].num_seqs != cells[i - 1].num_seqs ? kBetween : 0;
        columns.push_back(column++);
    }
    return columns;
}

void set_axes(PeersPanel& panel, const std::vector<PeerCell>& cells,
              const std::vector<double>& columns) {
    double least = 1;
    for (const PeerCell& cell : cells) {
        least = std::min({least, cell.our_times, cell.peers.front().times});
    }
    panel.width = columns.back() + 0.5;
    panel.ratio = checked_axis(0.96 * least, 1.08 * kHighest);
    panel.ratio_ticks = ratio_ticks(panel.ratio);
}

void add_texts(PeersPanel& panel, const std::vector<PeerCell>& cells,
               const std::vector<double>& columns) {
    for (std::size_t first = 0; first < cells.size();) {
        std::size_t last = first;
        while (last + 1 < cells.size() && cells[last + 1].num_seqs == cells[first].num_seqs) {
            ++last;
        }
        panel.batches.push_back({(columns[first] + columns[last]) / 2,
                                 fmt::format("{} sequence{}", cells[first].num_seqs,
                                             cells[first].num_seqs == 1 ? "" : "s")});
        if (last + 1 < cells.size()) {
            panel.edges.push_back((columns[last] + columns[last + 1]) / 2);
        }
        first = last + 1;
    }
    for (std::size_t i = 0; i < cells.size(); ++i) {
        panel.cells.push_back({columns[i], tokens_text(cells[i])});
    }
}

void add_mark(PeerMarks& marks, double column, double times) {
    if (times <= kHighest) {
        marks.points.push_back({column, times});
    } else {
        marks.above.push_back(column);
    }
}

void add_readers(PeersPanel& panel, const std::vector<PeerCell>& cells,
                 const std::vector<double>& columns, const std::set<std::string>& names) {
    for (const std::string& name : names) {
        PeerMarks marks{name, kPeerStyles[panel.readers.size() % std::size(kPeerStyles)], {}, {}};
        for (std::size_t i = 0; i < cells.size(); ++i) {
            for (const PeerTime& peer : cells[i].peers) {
                if (peer.peer == name) {
                    add_mark(marks, columns[i], peer.times);
                }
            }
        }
        panel.readers.push_back(std::move(marks));
    }
    PeerMarks ours{"nanoserve", kOurStyle, {}, {}};
    for (std::size_t i = 0; i < cells.size(); ++i) {
        add_mark(ours, columns[i], cells[i].our_times);
    }
    panel.readers.push_back(std::move(ours));
}

PeersPanel panel_of(const std::vector<PeerCell>& cells, const PixelBox& box,
                    const std::set<std::string>& names) {
    const std::vector<double> columns = columns_of(cells);
    const PeerClaims claims = claims_of(cells).front();
    PeersPanel panel;
    panel.box = box;
    panel.heading = fmt::format("head_dim {}", claims.head_dim);
    panel.remark = fmt::format(
        "{} times as fast as the best peer (geometric mean), {} of {} cells lost; {} times "
        "our own load-only",
        ratio_text(claims.mean_speedup), claims.lost.size(), claims.num_cells,
        ratio_text(claims.mean_times_ceiling));
    set_axes(panel, cells, columns);
    add_texts(panel, cells, columns);
    add_readers(panel, cells, columns, names);
    for (std::size_t i = 0; i < cells.size(); ++i) {
        panel.gaps.push_back({columns[i], std::min(cells[i].our_times, kHighest),
                              std::min(cells[i].peers.front().times, kHighest),
                              ratio_text(cells[i].speedup()), cells[i].is_lost()});
    }
    return panel;
}

std::string title_of(std::span<const PeerCell> cells) {
    std::string title;
    const auto num_level = std::ranges::count_if(cells, &PeerCell::is_level);
    const auto num_lost = std::ranges::count_if(cells, &PeerCell::is_lost);
    title = fmt::format("Nearer to the ceiling than every peer in {} of {} cells",
                        std::ssize(cells) - num_level - num_lost, cells.size());
    title += num_level > 0 ? fmt::format(", level in {}", num_level) : "";
    for (const PeerClaims& claims : claims_of(cells)) {
        title += fmt::format("{} {} times at head_dim {}",
                             title.find(':') == std::string::npos ? ":" : ",",
                             ratio_text(claims.mean_speedup), claims.head_dim);
    }
    return title;
}

}  // namespace

PeersPicture peers_picture(std::span<const PeerCell> cells,
                           const std::vector<std::string>& sources) {
    std::set<std::int64_t> head_dims;
    std::set<std::string> names;
    for (const PeerCell& cell : cells) {
        head_dims.insert(cell.head_dim);
        for (const PeerTime& peer : cell.peers) {
            names.insert(peer.peer);
        }
    }
    if (head_dims.empty() || head_dims.size() > std::size(kBoxes)) {
        throw std::invalid_argument(fmt::format(
            "a picture of peers has cells of 1 or 2 head_dims, not {}", head_dims.size()));
    }
    PeersPicture picture;
    for (const std::int64_t head_dim : head_dims) {
        picture.panels.push_back(
            panel_of(cells_of(cells, head_dim), kBoxes[picture.panels.size()], names));
    }
    picture.heading.title = title_of(cells);
    picture.heading.subtitle = fmt::format(
        "time of one read over the load-only read of the same run, lower is better · the fastest "
        "sample of each · marks at the upper edge lie above {}",
        digits_text(kHighest, 1));
    picture.heading.foot = sources;
    return picture;
}

}  // namespace nanoserve::report
