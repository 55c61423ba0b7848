// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <csignal>

namespace nanoserve::report {

/// While it lives, the signals by which somebody ends a program (SIGINT, SIGTERM, SIGHUP) wait: a
/// file half renamed, or a temporary one left behind, would be the answer. Holds them for the
/// calling thread and for those that are started meanwhile; any other would take the signal.
class SignalHold {
  public:
    SignalHold();
    SignalHold(const SignalHold&) = delete;
    SignalHold& operator=(const SignalHold&) = delete;
    ~SignalHold();

    /// Whether one of them waits: what takes long had better give up.
    [[nodiscard]] static bool one_waits();

  private:
    sigset_t before_{};
};

}  // namespace nanoserve::report
