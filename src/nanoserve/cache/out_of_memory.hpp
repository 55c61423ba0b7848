// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanoserve/model/require.hpp>

#include <memory>
#include <new>
#include <string>
#include <string_view>

namespace nanoserve {

/// A std::bad_alloc that says what the memory was for: where the library takes much of it. No other
/// type would do, since a text is memory too: when there is none left, std::bad_alloc comes out.
class OutOfMemory : public std::bad_alloc {
  public:
    /// `what` is the thing that needs `num_bytes`.
    OutOfMemory(double num_bytes, std::string_view what)
        : text_(std::make_shared<const std::string>(join_text(
              "out of memory: ", num_bytes / 1e9, " GB for ", what, " are not to be had"))) {}

    /// One line, such as "out of memory: 1048.61 GB for a cache of 4000000 blocks are not to be
    /// had".
    [[nodiscard]] const char* what() const noexcept override { return text_->c_str(); }

  private:
    std::shared_ptr<const std::string> text_;  // shared, so that a copy cannot fail
};

}  // namespace nanoserve
