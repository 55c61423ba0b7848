// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// A SIGTERM that is counted and ends nothing.
#pragma once

#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <utility>

namespace nanoserve::report::testing {

inline std::filesystem::path watched;
inline volatile std::sig_atomic_t num_signals = 0;
inline volatile std::sig_atomic_t was_complete = 0;

inline void look_at_watched(int) {
    num_signals = num_signals + 1;
    was_complete = ::access(watched.c_str(), F_OK) == 0 ? 1 : 0;
}

/// While it lives, SIGTERM only has a look whether `watched` is there.
class SignalWatch {
  public:
    explicit SignalWatch(std::filesystem::path path) {
        watched = std::move(path);
        num_signals = 0;
        old_ = std::signal(SIGTERM, look_at_watched);
    }
    SignalWatch(const SignalWatch&) = delete;
    SignalWatch& operator=(const SignalWatch&) = delete;
    ~SignalWatch() { std::signal(SIGTERM, old_); }

  private:
    void (*old_)(int) = nullptr;
};

}  // namespace nanoserve::report::testing
