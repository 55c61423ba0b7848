// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// How the programs of the days with a kernel end.
#pragma once

#include <string>

namespace nanoserve::gpu_bench {

/// Exit statuses of the programs.
enum ExitStatus : int {
    kFine = 0,
    kMeasurementFailed = 1,  ///< an output that is wrong, a GPU that failed
    kWrongUsage = 2,
    kFilesFailed = 3,  ///< a data file could not be read or written, or standard output not written
};

/// The same in words, for the help.
inline constexpr const char* kExitStatuses =
    "Exit status: 0 fine; 1 an output is wrong or the GPU failed; 2 wrong usage; 3 a data file "
    "could not be\nread or written, or standard output could not. A run that is interrupted (a "
    "shell then says 130 or 143)\nleaves CSV and sidecar as they were, and its own cells so far "
    "beside them, in files called unfinished.";

/// Why the program has nothing to do: --help was asked for (status kFine), or a flag is wrong.
struct Refusal {
    ExitStatus status = kFine;
    std::string text;  ///< the help, or one line with the flag, its value and its limit
};

}  // namespace nanoserve::gpu_bench
