// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace nanoserve::detail {

/// A caller and num_threads - 1 workers that run the same task side by side. The workers outlive
/// the calls, since starting a thread costs more than a short read.
class ThreadTeam {
  public:
    explicit ThreadTeam(int num_threads);
    ~ThreadTeam();
    ThreadTeam(const ThreadTeam&) = delete;
    ThreadTeam& operator=(const ThreadTeam&) = delete;

    [[nodiscard]] int num_threads() const { return static_cast<int>(workers_.size()) + 1; }

    /// Calls task(0), ..., task(num_threads - 1), the first on the calling thread, and returns when
    /// all are done. Rethrows what a task threw, the first of them if there were several.
    void run(const std::function<void(int)>& task);

  private:
    void work(int index);
    void call_task(int index) noexcept;
    void start_round(const std::function<void(int)>* task);

    const std::function<void(int)>* task_ = nullptr;  // nullptr tells the workers to leave
    std::atomic<std::uint32_t> round_ = 0;            // raised when a task is set
    std::atomic<int> num_busy_ = 0;                   // workers that have not finished this round
    std::mutex error_mutex_;
    std::exception_ptr error_;
    std::vector<std::jthread> workers_;
};

/// The share of thread `index` when `count` items are split over `num_threads`: [begin, end), in
/// order.
struct Share {
    std::int64_t begin = 0;
    std::int64_t end = 0;
};
[[nodiscard]] constexpr Share share_of(std::int64_t count, int index, int num_threads) {
    return {count * index / num_threads, count * (index + 1) / num_threads};
}

}  // namespace nanoserve::detail
