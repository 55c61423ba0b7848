// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// What goes wrong when a read is timed carelessly, and what does not matter: facts to run, no files
// written.
#pragma once

#include "options.hpp"

namespace nanoserve::day20 {

/// Times the write together with the read. Every sample appends a token, so the history grows under
/// the clock until the pool runs out; the error says so. Returns kMeasurementFailed, or kFine when
/// the samples were too few for that.
[[nodiscard]] ExitStatus time_the_step(const Options& options);

/// Reads histories that differ in all values and in the order of their blocks: the cost is the
/// same.
[[nodiscard]] ExitStatus compare_seeds(const Options& options);

/// Times one read again and again and shows how far the best and the median wander.
[[nodiscard]] ExitStatus repeat_one_read(const Options& options);

}  // namespace nanoserve::day20
