// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// A locale with decimal commas, as on many learners' machines, made without any being installed.
#pragma once

#include <locale>
#include <string>

namespace nanoserve::report::testing {

/// As long as it lives, the global C++ locale writes 1.234,5.
class CommaLocale {
  public:
    CommaLocale() : old_(std::locale::global(std::locale(std::locale::classic(), new Commas))) {}
    CommaLocale(const CommaLocale&) = delete;
    CommaLocale& operator=(const CommaLocale&) = delete;
    ~CommaLocale() { std::locale::global(old_); }

  private:
    struct Commas : std::numpunct<char> {
        char do_decimal_point() const override { return ','; }
        char do_thousands_sep() const override { return '.'; }
        std::string do_grouping() const override { return "\3"; }
    };
    std::locale old_;
};

}  // namespace nanoserve::report::testing
