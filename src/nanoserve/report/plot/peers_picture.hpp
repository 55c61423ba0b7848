// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// Our read among its peers, cell by cell: all that the picture shows, before any of it is drawn.
#pragma once

#include <nanoserve/report/peer_comparison.hpp>
#include <nanoserve/report/plot/heading.hpp>
#include <nanoserve/report/plot/picture_style.hpp>
#include <nanoserve/report/plot/ratio_frame.hpp>

#include <span>
#include <string>
#include <vector>

namespace nanoserve::report {

/// A time over its ceiling in one column.
struct ColumnPoint {
    double column = 0;
    double times = 0;  ///< over the load-only read of the same run
};

/// One reader in all columns; `points` are inside the axis, `above` are columns in which it is not.
struct PeerMarks {
    std::string name;
    CurveStyle style;
    std::vector<ColumnPoint> points;
    std::vector<double> above;
};

/// From ours to the best peer.
struct PeerGap {
    double column = 0;
    double ours = 0;
    double best = 0;
    std::string speedup;  ///< "1.28"
    bool is_lost = false;
};

/// Text below the axis, centred at `column`.
struct ColumnText {
    double column = 0;
    std::string text;
};

/// The cells of one head_dim.
struct PeersPanel : RatioFrame {
    std::string heading;              ///< "head_dim 64"
    std::string remark;               ///< what may be claimed
    std::vector<PeerMarks> readers;   ///< the peers, by name, and ours at the end
    std::vector<PeerGap> gaps;        ///< one for each cell
    std::vector<ColumnText> cells;    ///< "16", "1k", "1k r", ...
    std::vector<ColumnText> batches;  ///< "1 sequence", "8 sequences", ...
    std::vector<double> edges;        ///< columns between two batches
};

/// Words and panels, from top to bottom.
struct PeersPicture {
    Heading heading;
    std::vector<PeersPanel> panels;
};

/// Makes the picture of cells of one or two head_dims. `sources` are lines for the foot. Throws
/// `std::invalid_argument` for no cell, and for more head_dims.
[[nodiscard]] PeersPicture peers_picture(std::span<const PeerCell> cells,
                                         const std::vector<std::string>& sources);

}  // namespace nanoserve::report
