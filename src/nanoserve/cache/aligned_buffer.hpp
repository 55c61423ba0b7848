// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>

namespace nanoserve {

/// Owns zeroed bytes that start on a cache line. Every page is touched at construction, so that no
/// page fault is left for whoever reads it first. Moves, does not copy.
class AlignedBuffer {
  public:
    /// In bytes: a cache line, and the widest vector register.
    static constexpr std::size_t kAlignment = 64;

    AlignedBuffer() = default;

    /// Throws OutOfMemory when so many bytes are not to be had.
    explicit AlignedBuffer(std::size_t num_bytes);

    /// The first byte; nullptr when default-constructed.
    [[nodiscard]] std::byte* data() { return bytes_.get(); }
    /// The same, for reading.
    [[nodiscard]] const std::byte* data() const { return bytes_.get(); }

  private:
    struct Free {
        void operator()(std::byte* bytes) const noexcept;
    };

    std::unique_ptr<std::byte[], Free> bytes_;
};

}  // namespace nanoserve
