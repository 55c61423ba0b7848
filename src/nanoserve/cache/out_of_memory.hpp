// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanoserve/model/require.hpp>

#include <new>
#include <stdexcept>
#include <string_view>

namespace nanoserve {

/// A std::bad_alloc that says what the memory was for: where the library takes much of it. No other
/// type would do, since a text is memory too: when there is none left, std::bad_alloc comes out.
class OutOfMemory : public std::bad_alloc {
  public:
    /// `what` is the thing that needs `num_bytes`.
    OutOfMemory(double num_bytes, std::string_view what)
        : text_(join_text("out of memory: ", num_bytes / 1e9, " GB for ", what,
                          " are not to be had")) {}

    /// One line, such as "out of memory: 1048.61 GB for a cache of 4000000 blocks are not to be
    /// had".
    [[nodiscard]] const char* what() const noexcept override { return text_.what(); }

  private:
    std::runtime_error text_;  // for its text, whose copies cannot fail
};

}  // namespace nanoserve
