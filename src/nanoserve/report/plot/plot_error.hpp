// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanoserve/report/one_line.hpp>

#include <stdexcept>
#include <string>
#include <utility>

namespace nanoserve::report {

/// A picture could not be drawn. `what()` is one line: what failed, the remedy, and where the
/// script was left.
class PlotError : public std::runtime_error {
  public:
    explicit PlotError(std::string message) : std::runtime_error(one_line(std::move(message))) {}
};

}  // namespace nanoserve::report
