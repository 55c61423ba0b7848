// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>

namespace nanoserve::pages {

/// A page asks for something that isn't there, or says it in a way nobody can read. `what()` is one
/// line; who knows the page puts its name and line before it.
class PageError : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

/// There is no such cell: no row has the keys, or the cell is empty.
class NoSuchCell : public PageError {
  public:
    using PageError::PageError;
};

}  // namespace nanoserve::pages
