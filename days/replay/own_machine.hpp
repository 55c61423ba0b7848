// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// This machine's own read beside a record: streaming, against this machine's own read floor.
#pragma once

#include <nanoserve/model/model_config.hpp>
#include <nanoserve/report/read_row.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace nanoserve::replay {

/// What to measure: one thread, fp32, cold.
struct OwnRun {
    ModelConfig model = llama_3_2_1b();
    std::vector<std::int64_t> histories;  ///< tokens, ascending
    std::size_t num_samples = 40;
};

/// The rows of a CPU and where they come from, in one line.
struct OwnRows {
    std::vector<report::ReadRow> rows;
    std::string source;
};

/// A short run of Day 20's measurement, outputs checked; tells on stderr what it is at. The rows of
/// "streaming" hold the read floor beside the time. Throws std::runtime_error when an output is
/// wrong or a read beats its floor.
[[nodiscard]] OwnRows measure_own_machine(const OwnRun& run);

}  // namespace nanoserve::replay
