// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// How every program ends, so that results which nobody got are no success.
#pragma once

#include <exception>
#include <string_view>

namespace nanoserve::report {

/// The exit status of a program whose results did not all reach standard output: that of a file
/// which could not be written.
inline constexpr int kOutputFailed = 3;

/// Writes out what standard output still holds, and returns the exit status: `status`, but
/// `kOutputFailed` in the place of 0 when standard output (a file on a full disk, a descriptor that
/// is closed) didn't take all that was printed. One line on stderr says so then, with `program` in
/// front and the system's reason.
[[nodiscard]] int end_program(std::string_view program, int status);

/// For a program that has nothing to do: prints `text`, the help, when `status` is 0, else says it
/// in one line on stderr, with `program` in front. Returns `status`.
[[nodiscard]] int end_at_once(std::string_view program, int status, std::string_view text);

/// For a program that `error` ended: says it in one line on stderr, with `program` in front, and
/// returns `status`; or `kOutputFailed` when the error is a print that standard output didn't take.
[[nodiscard]] int fail_program(std::string_view program, int status, const std::exception& error);

}  // namespace nanoserve::report
