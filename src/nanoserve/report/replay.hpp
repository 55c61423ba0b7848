// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// A record of a machine that is not at hand: its table once more, from its raw samples.
#pragma once

#include <nanoserve/report/file_error.hpp>
#include <nanoserve/report/read_row.hpp>
#include <nanoserve/report/sidecar.hpp>

#include <span>
#include <string>
#include <vector>

namespace nanoserve::report {

/// A record is not what its samples say, whose files were read without trouble. `what()` is one
/// line that names the row and the reason.
class RecordError : public FileError {
  public:
    using FileError::FileError;
};

/// Throws `RecordError` naming what is wrong unless there is a row, each series of the sidecar has
/// exactly one, and each row's machine is the sidecar's; its cache state, too, where the sidecar
/// has an option "cache" or the bytes of the row's cell.
void require_whole_record(std::span<const ReadRow> rows, const Sidecar& sidecar);

/// `rows` with everything that samples tell computed anew: times and bandwidth of each row,
/// floor_us (the best of "load_only_nhd" in the row's cell), and for a candidate speedup and
/// verdict against the baseline of its cell, by the roles of the samples. Keys, prediction and
/// error stay. Throws `RecordError` for a row that has no samples, not as many as its partner, or
/// an unknown dtype.
[[nodiscard]] std::vector<ReadRow> rows_from_samples(std::span<const ReadRow> rows,
                                                     const Sidecar& sidecar);

/// Throws `RecordError` naming the first row and column in which the record is not what its samples
/// say, rounding apart. `recomputed` comes from `rows_from_samples` of the same rows.
void require_same_rows(std::span<const ReadRow> recorded, std::span<const ReadRow> recomputed,
                       const Sidecar& sidecar);

/// A table for each shape and batch: history, read, best, median, 5th to 95th percentile and share
/// of the ceiling, which is floor_us / best_us. The last column is the same share of the machine at
/// hand: its "streaming" rows over the read floor, at the same history, one sequence. A missing
/// value is a dash.
[[nodiscard]] std::string format_replay(std::span<const ReadRow> rows,
                                        std::span<const ReadRow> own);

}  // namespace nanoserve::report
