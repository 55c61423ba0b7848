// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// What the day shows without a GPU.
#pragma once

namespace nanoserve::day21 {

/// Runs the kernel's CPU twin, the same steps in the same order, against the float64 oracle, and
/// prints the results recorded on an H200 where their file is. Throws std::runtime_error when the
/// twin is off, report::FileError when the file can't be understood.
void tell_without_gpu();

}  // namespace nanoserve::day21
