// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <nanoserve/report/descriptor.hpp>
#include <nanoserve/report/plot/gnuplot_process.hpp>
#include <nanoserve/report/plot/plot_error.hpp>
#include <nanoserve/report/signal_hold.hpp>

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace nanoserve::report {
namespace fs = std::filesystem;
namespace {

using Clock = std::chrono::steady_clock;

[[noreturn]] void throw_system_error(const char* action, int error) {
    throw PlotError(
        fmt::format("cannot {} gnuplot: {}", action, std::generic_category().message(error)));
}

// The pipe through which gnuplot complains. Reading never waits.
class Complaints {
  public:
    Complaints() {
        int ends[2];
        if (::pipe2(ends, O_CLOEXEC) != 0) {
            throw_system_error("start", errno);
        }
        read_end_ = above_standard_streams(ends[0]);
        write_end_ = above_standard_streams(ends[1]);
        if (read_end_ < 0 || write_end_ < 0 || ::fcntl(read_end_, F_SETFL, O_NONBLOCK) != 0) {
            const int error = errno;
            close_ends();
            throw_system_error("start", error);
        }
    }
    Complaints(const Complaints&) = delete;
    Complaints& operator=(const Complaints&) = delete;
    ~Complaints() { close_ends(); }

    [[nodiscard]] int write_end() const { return write_end_; }

    // Ours; gnuplot has its own. The pipe ends when the last is closed.
    void close_write_end() { ::close(std::exchange(write_end_, -1)); }

    // Waits until there is more, or until `interval` is over.
    void wait(std::chrono::milliseconds interval) const {
        pollfd more{read_end_, POLLIN, 0};
        ::poll(&more, at_end_ ? 0 : 1, static_cast<int>(interval.count()));
    }

    void read_what_is_there() {
        char buffer[4096];
        ssize_t num_bytes = 0;
        while ((num_bytes = ::read(read_end_, buffer, sizeof buffer)) > 0) {
            text_.append(buffer, static_cast<std::size_t>(num_bytes));
        }
        at_end_ = num_bytes == 0;
    }

    // gnuplot repeats the command and points at a column before it says what is wrong: the last
    // line tells most.
    [[nodiscard]] std::string last_line() const {
        std::string_view text = text_;
        const std::size_t end = text.find_last_not_of(" \n\r\t");
        if (end == std::string_view::npos) {
            return "it gave no reason";
        }
        text = text.substr(0, end + 1);
        const std::size_t line_end = text.find_last_of('\n');
        return std::string(line_end == std::string_view::npos ? text : text.substr(line_end + 1));
    }

  private:
    void close_ends() const {
        for (const int end : {read_end_, write_end_}) {
            if (end >= 0) {
                ::close(end);
            }
        }
    }

    int read_end_ = -1;
    int write_end_ = -1;
    bool at_end_ = false;
    std::string text_;
};

// gnuplot, in a process group of its own: what a wrapper of it starts is killed with it.
class Process {
  public:
    // `-d` skips the start-up files of the user: the same script draws the same picture everywhere.
    // The signals that this process holds are not held there.
    Process(const std::string& script, int picture, int complaints) {
        posix_spawn_file_actions_t actions;
        posix_spawn_file_actions_init(&actions);
        posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
        posix_spawn_file_actions_adddup2(&actions, picture, STDOUT_FILENO);
        posix_spawn_file_actions_adddup2(&actions, complaints, STDERR_FILENO);
        posix_spawnattr_t attributes;
        posix_spawnattr_init(&attributes);
        sigset_t none;
        sigemptyset(&none);
        posix_spawnattr_setsigmask(&attributes, &none);
        posix_spawnattr_setpgroup(&attributes, 0);
        posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
        std::string words[] = {"gnuplot", "-d", script};
        char* const arguments[] = {words[0].data(), words[1].data(), words[2].data(), nullptr};
        const int error =
            ::posix_spawnp(&child_, "gnuplot", &actions, &attributes, arguments, environ);
        posix_spawn_file_actions_destroy(&actions);
        posix_spawnattr_destroy(&attributes);
        if (error == ENOENT) {
            throw PlotError(fmt::format("gnuplot was not found: {}", kInstallGnuplot));
        }
        if (error != 0) {
            throw_system_error("start", error);
        }
    }
    Process(const Process&) = delete;
    Process& operator=(const Process&) = delete;

    ~Process() {
        if (!has_ended_) {
            ::kill(-child_, SIGKILL);
            while (::waitpid(child_, &status_, 0) < 0 && errno == EINTR) {
            }
        }
    }

    [[nodiscard]] bool has_ended() {
        const pid_t ended = ::waitpid(child_, &status_, WNOHANG);
        if (ended < 0 && errno != EINTR) {
            throw_system_error("wait for", errno);
        }
        has_ended_ = ended == child_;
        return has_ended_;
    }

    // As waitpid gives it, once it has ended.
    [[nodiscard]] int status() const { return status_; }

  private:
    pid_t child_ = 0;
    int status_ = 0;
    bool has_ended_ = false;
};

void wait_for(Process& process, Complaints& complaints, std::chrono::milliseconds limit) {
    constexpr std::chrono::milliseconds kInterval{10};
    const Clock::time_point deadline = Clock::now() + limit;
    while (!process.has_ended()) {
        if (SignalHold::one_waits()) {
            throw PlotError("a signal ended it");
        }
        if (Clock::now() >= deadline) {
            throw PlotError(fmt::format("gnuplot was not done after {} s and was ended",
                                        static_cast<double>(limit.count()) / 1e3));
        }
        complaints.wait(kInterval);
        complaints.read_what_is_there();
    }
    complaints.read_what_is_there();
}

void check_status(int status, const Complaints& complaints) {
    if (WIFEXITED(status) && WEXITSTATUS(status) == 127) {
        throw PlotError(fmt::format("gnuplot was not found: {}", kInstallGnuplot));
    }
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
        throw PlotError(fmt::format("gnuplot failed with exit code {} ({}); if it is broken, {}",
                                    code, complaints.last_line(), kInstallGnuplot));
    }
}

}  // namespace

void run_gnuplot(const fs::path& script, int picture, std::chrono::milliseconds limit) {
    Complaints complaints;
    // An absolute path cannot be taken for an option.
    Process process(fs::absolute(script).string(), picture, complaints.write_end());
    complaints.close_write_end();
    wait_for(process, complaints, limit);
    check_status(process.status(), complaints);
}

}  // namespace nanoserve::report
