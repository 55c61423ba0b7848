// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include "program_end.hpp"

#include <nanoserve/report/standard_error.hpp>

#include <fmt/core.h>

#include <cerrno>
#include <cstdio>
#include <string>
#include <system_error>

namespace nanoserve::report {
namespace {

void say_output_failed(std::string_view program, const std::error_code& reason) {
    complain(program, "cannot write standard output" + (reason ? ": " + reason.message() : ""));
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

int end_at_once(std::string_view program, int status, std::string_view text) {
    if (status == 0) {
        fmt::print("{}\n", text);
    } else {
        complain(program, text);
    }
    return status;
}

int fail_program(std::string_view program, int status, const std::exception& error) {
    // fmt::print throws what the system said, under words that name no file.
    const auto* said = dynamic_cast<const std::system_error*>(&error);
    if (said != nullptr && std::ferror(stdout) != 0) {
        say_output_failed(program, said->code());
        return kOutputFailed;
    }
    complain(program, error.what());
    return status;
}

}  // namespace nanoserve::report
