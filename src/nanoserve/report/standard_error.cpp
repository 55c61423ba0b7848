// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <nanoserve/report/one_line.hpp>
#include <nanoserve/report/standard_error.hpp>

#include <cstdio>
#include <exception>
#include <string>

namespace nanoserve::report {

void print_stderr(std::string_view text) noexcept {
    std::fwrite(text.data(), 1, text.size(), stderr);
    std::fflush(stderr);
}

void complain(std::string_view program, std::string_view text) noexcept {
    try {
        print_stderr(one_line(std::string(program) + ": " + std::string(text)) + "\n");
    } catch (const std::exception&) {  // no memory: the text as it stands needs none
        print_stderr(text);
    }
}

}  // namespace nanoserve::report
