// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// One line of data/peers/h200-peers.csv: what another library's kernel took.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace nanoserve::report {

/// The ceilings of the peers' run stand in the same file, as peers called "load_only_nhd" and
/// "load_only_hnd".
struct PeerRow {
    std::int64_t num_q_heads = 0;   ///< query heads
    std::int64_t num_kv_heads = 0;  ///< heads of K and V
    std::int64_t head_dim = 0;      ///< elements of one head
    std::string kv_dtype;           ///< "bf16" or "fp8_e4m3"
    std::int64_t num_seqs = 0;      ///< sequences in the batch
    std::int64_t seq_len = 0;       ///< tokens of one sequence (the mean when ragged)
    bool ragged = false;            ///< lengths differ
    std::string peer;               ///< "flashinfer_cc", "load_only_nhd", ...
    double best_us = 0;             ///< the fastest sample, for one read
    double median_us = 0;           ///< the middle one

    /// Equal when all fields are.
    bool operator==(const PeerRow&) const = default;
};

/// The rows of the file's text; lines that begin with '#' say where they come from. Throws
/// `FileError` naming line, column and value for another header, a wrong number of fields, and a
/// cell that is not a number where one is due.
[[nodiscard]] std::vector<PeerRow> parse_peers(std::string_view text);

/// `parse_peers` of the file; errors name the file too.
[[nodiscard]] std::vector<PeerRow> read_peers(const std::filesystem::path& path);

}  // namespace nanoserve::report
