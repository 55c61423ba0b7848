// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// Made-up rows of a GPU's record and of its peers.
#pragma once

#include <nanoserve/report/peer_row.hpp>

#include <report/sample_rows.hpp>

#include <cstdint>
#include <string>

namespace nanoserve::report::testing {

/// A uniform bf16 cell of 32/8 heads.
inline PeerRow peer_row(std::string peer, std::int64_t head_dim, std::int64_t num_seqs,
                        std::int64_t seq_len, double best_us) {
    return {32, 8, head_dim, "bf16", num_seqs, seq_len, false, std::move(peer), best_us, best_us};
}

/// The same cell in a record of ours, with its ceiling.
inline ReadRow our_row(const std::string& read, std::int64_t head_dim, std::int64_t num_seqs,
                       std::int64_t seq_len, double best_us, double floor_us) {
    ReadRow row = sample_row(read, seq_len, best_us);
    row.machine = "NVIDIA H200";
    row.dtype = "bf16";
    row.threads.reset();
    row.cache = "cold";
    row.head_dim = head_dim;
    row.num_seqs = num_seqs;
    row.floor_us = floor_us;
    return row;
}

}  // namespace nanoserve::report::testing
