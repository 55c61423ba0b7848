// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// The common program of the days whose read is a decode kernel. A day says what it reads, where,
// and what it foretells; the program checks, times, writes and prints.
#pragma once

#include "read_cell.hpp"

#include <nanoserve/attention/paged_attention_params.hpp>

#include <kernels/workspace.hpp>

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

struct CUstream_st;

namespace nanoserve::gpu_bench {

/// A cudaStream_t, by a name that needs no CUDA.
using GpuStream = CUstream_st*;

/// One read of a day.
struct DecodeRead {
    std::string name;                                     ///< as in the column `read`
    std::function<double(const ReadCell&)> predicted_us;  ///< for one read, before any measurement
};

/// The cells of one result file.
struct CellSet {
    std::string name;                    ///< as the flag --shapes takes it
    std::string stem;                    ///< of the files: "day-26-one-launch"
    std::vector<ReadCell> cells;         ///< no two alike but for block_size or order of the pool
    std::vector<DecodeRead> reads = {};  ///< what is read there; empty: what the day reads
};

/// What a day brings to the program.
struct DecodeDay {
    std::string program;            ///< "day26_one_launch"
    std::string about;              ///< what it times, for the help
    std::vector<DecodeRead> reads;  ///< the ceilings are timed besides
    std::string baseline = {};      ///< the read that all others are compared with; empty: none
    std::vector<CellSet> sets;      ///< the first is the default
    std::function<void()> story;    ///< what the day shows where there is no GPU
};

/// What is read in a set of cells.
[[nodiscard]] inline const std::vector<DecodeRead>& reads_of(const DecodeDay& day,
                                                             const CellSet& set) {
    return set.reads.empty() ? day.reads : set.reads;
}

/// Runs a day's program. On a GPU, cell by cell: the outputs of all reads against the float64
/// oracle and against general_attention; all reads and the ceilings load_only_nhd, load_only_hnd
/// and read_stream by replayed CUDA graphs, a sample of each in turn; the table; and with --data
/// the CSV and its sidecar. Without a GPU: the day's story and the record in data/, or what is
/// foretold.
/// @return the exit status
int run_decode_day(const DecodeDay& day, int argc, const char* const* argv);

/// How the read of that name is launched, all pointers being the device's.
struct DecodeLaunch {
    std::string read;
    std::function<void(const PagedAttentionParams&, const Workspace&, GpuStream)> launch;
    /// Bytes of device memory that launch() needs, zeros before its first call; empty: none. A
    /// workspace is this read's alone, and its calls run one after the other.
    std::function<std::size_t(const PagedAttentionParams&)> workspace_bytes = {};
    /// Why the read doesn't take these sizes; it is then left out of the cell. Empty: it takes all.
    std::function<std::optional<std::string>(const PagedAttentionParams&)> reason_not_to = {};
};

/// One for each of the day's reads. Each day defines it, in its launches.cpp, which only a build
/// with CUDA has.
[[nodiscard]] std::vector<DecodeLaunch> decode_launches();

}  // namespace nanoserve::gpu_bench
