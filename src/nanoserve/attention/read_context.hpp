// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanoserve/attention/instruction_set.hpp>

#include <memory>

namespace nanoserve {

namespace detail {
class ReadState;
}

/// How a read on the CPU is run. Neither changes a bit of the result.
struct ReadOptions {
    int num_threads = 1;  ///< 1 to 1024; the calling thread is one of them
    InstructionSet instruction_set = default_instruction_set();  ///< one that is available here
};

/// What a read needs beside its arguments and keeps between calls: its threads and its scratch
/// memory. The first read of a size allocates and touches the scratch, later ones find it there. A
/// read throws std::bad_alloc when that memory is not to be had; each row of out is then as it was
/// or as it should be. One context serves one read at a time.
class ReadContext {
  public:
    /// Throws std::invalid_argument when num_threads is below 1 or above 1024 or the processor
    /// lacks the instruction set, std::system_error when the system has no thread left,
    /// std::bad_alloc when it has no memory.
    explicit ReadContext(const ReadOptions& options = {});
    /// Threads and scratch change hands; a read with a context that was moved from throws
    /// std::invalid_argument.
    ReadContext(ReadContext&&) noexcept;
    /// Threads and scratch change hands; those held before end.
    ReadContext& operator=(ReadContext&&) noexcept;
    ~ReadContext();

    /// As given to the constructor.
    [[nodiscard]] const ReadOptions& options() const { return options_; }
    /// For the reads themselves.
    [[nodiscard]] detail::ReadState& state();

  private:
    ReadOptions options_;
    std::unique_ptr<detail::ReadState> state_;
};

/// The context of reads that are called without one: one for each thread, single-threaded.
[[nodiscard]] ReadContext& default_read_context();

}  // namespace nanoserve
