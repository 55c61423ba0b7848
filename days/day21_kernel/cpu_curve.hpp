// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// The CPU's reads of Day 20 beside the kernel.
#pragma once

#include <nanoserve/report/read_row.hpp>

#include <span>
#include <string>
#include <vector>

namespace nanoserve::day21 {

/// The rows of data/day-21-cpu-cold-1.csv: one thread, and cold like the kernel's own reads. Empty
/// where the program has been carried to a machine without the file. Throws report::FileError when
/// the file can't be understood.
[[nodiscard]] std::vector<report::ReadRow> recorded_cpu_rows();

/// A line for each history on which both devices read one and the same shape and batch: the CPU's
/// fused and streaming reads, the kernel, its ceiling, and streaming over kernel. Both machines are
/// named. Empty when there is no such history.
[[nodiscard]] std::string format_beside_cpu(std::span<const report::ReadRow> cpu,
                                            std::span<const report::ReadRow> gpu);

}  // namespace nanoserve::day21
