// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// The heading of the picture: what was found, and on which shape.
#pragma once

#include <nanoserve/report/plot/paged_read_facts.hpp>
#include <nanoserve/report/read_row.hpp>

#include <span>
#include <string>

namespace nanoserve::report {

/// What one read costs at its shortest and longest history, and which read wins there, or that they
/// tie; nothing of either without a verdict. Every number comes from the facts, and the sentence
/// holds whichever way they fall.
[[nodiscard]] std::string finding(const PagedReadFacts& facts);

/// Shape, dtype, threads and cache state. Values in which the rows differ are listed with commas.
[[nodiscard]] std::string shape_line(std::span<const ReadRow> rows);

/// The shape, and what the CPU's and the GPU's rows do not share: dtype, threads, cache state.
[[nodiscard]] std::string device_line(std::span<const ReadRow> cpu, std::span<const ReadRow> gpu);

}  // namespace nanoserve::report
