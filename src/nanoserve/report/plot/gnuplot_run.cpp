// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <nanoserve/report/plot/gnuplot_run.hpp>
#include <nanoserve/report/plot/gnuplot_script_file.hpp>
#include <nanoserve/report/plot/gnuplot_text.hpp>

#include <fcntl.h>
#include <fmt/core.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace nanoserve::report {
namespace fs = std::filesystem;
namespace {

constexpr const char* kInstall = "install it with \"apt-get install gnuplot-nox\"";

[[noreturn]] void throw_system_error(const char* action, int error) {
    throw PlotError(
        fmt::format("cannot {} gnuplot: {}", action, std::generic_category().message(error)));
}

// Starts gnuplot with nothing on its input, its output thrown away, and its complaints in
// `complaints`.
// `-d` skips the start-up files of the user: the same script draws the same picture everywhere.
pid_t spawn_gnuplot(const std::string& script, int complaints) {
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, complaints, STDERR_FILENO);
    std::string words[] = {"gnuplot", "-d", script};
    char* const arguments[] = {words[0].data(), words[1].data(), words[2].data(), nullptr};
    pid_t child = 0;
    const int error = ::posix_spawnp(&child, "gnuplot", &actions, nullptr, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (error == ENOENT) {
        throw PlotError(fmt::format("gnuplot was not found: {}", kInstall));
    }
    if (error != 0) {
        throw_system_error("start", error);
    }
    return child;
}

std::string read_to_end(int descriptor) {
    std::string text;
    char buffer[4096];
    ssize_t num_bytes = 0;
    while ((num_bytes = ::read(descriptor, buffer, sizeof buffer)) > 0 ||
           (num_bytes < 0 && errno == EINTR)) {
        text.append(buffer, num_bytes > 0 ? static_cast<std::size_t>(num_bytes) : 0);
    }
    return text;
}

int wait_for(pid_t child) {
    int status = 0;
    while (::waitpid(child, &status, 0) < 0) {
        if (errno != EINTR) {
            throw_system_error("wait for", errno);
        }
    }
    return status;
}

// gnuplot repeats the command and points at a column before it says what is wrong: the last line
// tells most.
std::string last_line(std::string_view text) {
    const std::size_t end = text.find_last_not_of(" \n\r\t");
    if (end == std::string_view::npos) {
        return "it gave no reason";
    }
    text = text.substr(0, end + 1);
    const std::size_t line_end = text.find_last_of('\n');
    return std::string(line_end == std::string_view::npos ? text : text.substr(line_end + 1));
}

void check_status(int status, std::string_view complaints) {
    if (WIFEXITED(status) && WEXITSTATUS(status) == 127) {
        throw PlotError(fmt::format("gnuplot was not found: {}", kInstall));
    }
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
        throw PlotError(fmt::format("gnuplot failed with exit code {} ({}); if it is broken, {}",
                                    code, last_line(complaints), kInstall));
    }
}

void check_picture(const fs::path& picture) {
    std::error_code error;
    const std::uintmax_t num_bytes = fs::file_size(picture, error);
    if (error || num_bytes == 0) {
        throw PlotError(fmt::format("gnuplot reported success but drew nothing; {}", kInstall));
    }
}

}  // namespace

void run_gnuplot(const fs::path& script_path) {
    int pipe_ends[2];
    if (::pipe2(pipe_ends, O_CLOEXEC) != 0) {
        throw_system_error("start", errno);
    }
    pid_t child = 0;
    try {
        // An absolute path cannot be taken for an option.
        child = spawn_gnuplot(fs::absolute(script_path).string(), pipe_ends[1]);
    } catch (...) {
        ::close(pipe_ends[0]);
        ::close(pipe_ends[1]);
        throw;
    }
    ::close(pipe_ends[1]);
    const std::string complaints = read_to_end(pipe_ends[0]);
    ::close(pipe_ends[0]);
    check_status(wait_for(child), complaints);
}

void draw_picture(std::string_view commands, std::string_view terminal, const fs::path& picture) {
    const fs::path script(picture.string() + ".gp.tmp");
    const fs::path unfinished(picture.string() + ".tmp");
    std::error_code ignored;
    fs::remove(unfinished, ignored);
    write_gnuplot_script(script,
                         fmt::format("set terminal {}\nset output {}\n{}unset output\n", terminal,
                                     gnuplot_literal(unfinished.string()), commands));
    try {
        run_gnuplot(script);
        check_picture(unfinished);
        fs::rename(unfinished, picture);
    } catch (const std::exception& error) {
        fs::remove(unfinished, ignored);
        throw PlotError(fmt::format("cannot draw {}: {}; the script with the data is {}",
                                    picture.string(), error.what(), script.string()));
    }
    fs::remove(script, ignored);
}

}  // namespace nanoserve::report
