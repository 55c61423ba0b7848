// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <nanoserve/attention/detail/thread_team.hpp>

#include <utility>

namespace nanoserve::detail {
namespace {

// Tells the processor that this is a waiting loop, where there is a word for it.
void pause() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

// Waits until the value is no longer `old`: some tens of microseconds awake, because the next read
// follows soon in a benchmark or a decode loop, then asleep.
template <class T>
void wait_while(const std::atomic<T>& value, T old) {
    constexpr int kSpins = 1000;  // a pause takes 40 to 140 cycles on current x86 processors
    for (int i = 0; i < kSpins; ++i) {
        if (value.load(std::memory_order_acquire) != old) {
            return;
        }
        pause();
    }
    value.wait(old, std::memory_order_acquire);
}

}  // namespace

ThreadTeam::ThreadTeam(int num_threads) {
    try {
        for (int index = 1; index < num_threads; ++index) {
            workers_.emplace_back([this, index] { work(index); });
        }
    } catch (...) {  // the system has no more threads: send those home that did start
        start_round(nullptr);
        throw;
    }
}

ThreadTeam::~ThreadTeam() {
    start_round(nullptr);
}

void ThreadTeam::run(const std::function<void(int)>& task) {
    num_busy_.store(static_cast<int>(workers_.size()), std::memory_order_relaxed);
    start_round(&task);
    call_task(0);
    for (int busy = num_busy_.load(std::memory_order_acquire); busy != 0;
         busy = num_busy_.load(std::memory_order_acquire)) {
        wait_while(num_busy_, busy);
    }
    if (error_ != nullptr) {
        std::rethrow_exception(std::exchange(error_, nullptr));
    }
}

void ThreadTeam::start_round(const std::function<void(int)>* task) {
    task_ = task;
    if (!workers_.empty()) {
        round_.fetch_add(1, std::memory_order_release);
        round_.notify_all();
    }
}

void ThreadTeam::call_task(int index) noexcept {
    try {
        (*task_)(index);
    } catch (...) {
        const std::scoped_lock lock(error_mutex_);
        if (error_ == nullptr) {
            error_ = std::current_exception();
        }
    }
}

void ThreadTeam::work(int index) {
    for (std::uint32_t seen = 0;; ++seen) {
        wait_while(round_, seen);
        if (task_ == nullptr) {
            return;
        }
        call_task(index);
        num_busy_.fetch_sub(1, std::memory_order_acq_rel);
        num_busy_.notify_one();
    }
}

}  // namespace nanoserve::detail
