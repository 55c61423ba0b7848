// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// What the learner asked a decode day's program to do.
#pragma once

#include "command_line.hpp"
#include "decode_day.hpp"
#include "results.hpp"

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace nanoserve::gpu_bench {

struct DecodeOptions {
    CellSet set;                     ///< that --shapes names, without the cells that --cells drops
    std::vector<std::string> only;   ///< reads that --only names; empty: all
    std::vector<std::string> cells;  ///< what --cells names; empty: all
    std::size_t num_samples = 50;
    bool check_only = false;
    /// A replay is one turn of the layers and begins on an idle GPU, as in the peers' harness: the
    /// start of a replay is then part of the time.
    bool as_peers = false;
    /// Folder of the CSV and its sidecar; empty: nothing is written.
    std::filesystem::path data;

    /// Whether --only lets the read take part.
    [[nodiscard]] bool takes(std::string_view read) const;
};

/// Reads the command line.
[[nodiscard]] std::variant<DecodeOptions, Refusal> parse_decode_options(const DecodeDay& day,
                                                                        int argc,
                                                                        const char* const* argv);

/// The options as names and values, for the sidecar.
[[nodiscard]] NamedOptions to_pairs(const DecodeOptions& options);

}  // namespace nanoserve::gpu_bench
