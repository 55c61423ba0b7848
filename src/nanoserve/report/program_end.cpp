// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include "program_end.hpp"

#include <fmt/core.h>

#include <cerrno>
#include <cstdio>
#include <string>
#include <system_error>

namespace nanoserve::report {
namespace {

void say_output_failed(std::string_view program, const std::error_code& reason) {
    fmt::print(stderr, "{}: cannot write standard output{}\n", program,
               reason ? ": " + reason.message() : "");
}

}  // namespace

int end_program(std::string_view program, int status) {
    errno = 0;  // or a write that failed before would get another's reason
    const bool flushed = std::fflush(stdout) == 0;
    if (flushed && std::ferror(stdout) == 0) {
        return status;
    }
    say_output_failed(program, {errno, std::generic_category()});
    return status == 0 ? kOutputFailed : status;
}

int fail_program(std::string_view program, int status, const std::exception& error) {
    // fmt::print throws what the system said, under words that name no file.
    const auto* said = dynamic_cast<const std::system_error*>(&error);
    if (said != nullptr && std::ferror(stdout) != 0) {
        say_output_failed(program, said->code());
        return kOutputFailed;
    }
    fmt::print(stderr, "{}: {}\n", program, error.what());
    return status;
}

}  // namespace nanoserve::report
