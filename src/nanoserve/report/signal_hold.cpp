// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <nanoserve/report/signal_hold.hpp>

namespace nanoserve::report {
namespace {

constexpr int kHeld[] = {SIGINT, SIGTERM, SIGHUP};

}  // namespace

SignalHold::SignalHold() {
    sigset_t held;
    sigemptyset(&held);
    for (const int signal : kHeld) {
        sigaddset(&held, signal);
    }
    ::pthread_sigmask(SIG_BLOCK, &held, &before_);
}

SignalHold::~SignalHold() {
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

bool SignalHold::one_waits() {
    sigset_t waiting;
    sigemptyset(&waiting);
    ::sigpending(&waiting);
    for (const int signal : kHeld) {
        if (sigismember(&waiting, signal) == 1) {
            return true;
        }
    }
    return false;
}

}  // namespace nanoserve::report
