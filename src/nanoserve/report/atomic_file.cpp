// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <nanoserve/report/atomic_file.hpp>
#include <nanoserve/report/file_error.hpp>

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <list>
#include <string>
#include <system_error>

namespace nanoserve::report {
namespace {

[[noreturn]] void throw_file_error(const char* verb, const std::filesystem::path& path, int error) {
    throw FileError(fmt::format("cannot {} {}: {}", verb, path.string(),
                                std::generic_category().message(error)));
}

// While it lives, the signals by which somebody ends a program wait: a file half renamed, or a
// temporary one left behind, would be the answer.
class SignalHold {
  public:
    SignalHold() {
        sigset_t held;
        sigemptyset(&held);
        for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
            sigaddset(&held, signal);
        }
        ::pthread_sigmask(SIG_BLOCK, &held, &before_);
    }
    SignalHold(const SignalHold&) = delete;
    SignalHold& operator=(const SignalHold&) = delete;
    ~SignalHold() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

  private:
    sigset_t before_{};
};

// A file that did not exist before, removed again unless it has been renamed to its final name.
class TemporaryFile {
  public:
    explicit TemporaryFile(const std::filesystem::path& target) : target_(target) {
        const std::string stem = target.string() + "." + std::to_string(::getpid());
        for (int attempt = 0; descriptor_ < 0 && attempt < 100; ++attempt) {
            path_ = stem + "-" + std::to_string(attempt) + ".tmp";
            descriptor_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
            if (descriptor_ < 0 && errno != EEXIST) {
                break;
            }
        }
        if (descriptor_ < 0) {
            throw_file_error("write", target_, errno);
        }
    }

    TemporaryFile(const TemporaryFile&) = delete;
    TemporaryFile& operator=(const TemporaryFile&) = delete;

    ~TemporaryFile() {
        if (descriptor_ >= 0) {
            ::close(descriptor_);
        }
        if (!renamed_) {
            ::unlink(path_.c_str());
        }
    }

    // `write` may take fewer bytes than it was given, and a signal may interrupt it.
    void write_all(std::string_view contents, WriteBytes write_bytes) {
        while (!contents.empty()) {
            const ssize_t written = write_bytes(descriptor_, contents.data(), contents.size());
            if (written < 0 && errno == EINTR) {
                continue;
            }
            if (written <= 0) {
                throw_file_error("write", target_, written == 0 ? EIO : errno);
            }
            contents.remove_prefix(static_cast<std::size_t>(written));
        }
    }

    void flush() {
        if (::fsync(descriptor_) != 0) {
            throw_file_error("write", target_, errno);
        }
        // Some file systems report a full disk only here.
        const int closed = ::close(descriptor_);
        descriptor_ = -1;
        if (closed != 0) {
            throw_file_error("write", target_, errno);
        }
        if (std::error_code ignored; std::filesystem::is_directory(target_, ignored)) {
            throw_file_error("write", target_, EISDIR);
        }
    }

    void rename_to_target() {
        if (std::rename(path_.c_str(), target_.c_str()) != 0) {
            throw_file_error("write", target_, errno);
        }
        renamed_ = true;
    }

  private:
    std::filesystem::path target_;
    std::string path_;
    int descriptor_ = -1;
    bool renamed_ = false;
};

}  // namespace

void write_file_atomically(const std::filesystem::path& path, std::string_view contents) {
    write_file_atomically(path, contents, &::write);
}

void write_file_atomically(const std::filesystem::path& path, std::string_view contents,
                           WriteBytes write_bytes) {
    const NewFile file{path, std::string(contents)};
    write_files_atomically({&file, 1}, write_bytes);
}

void write_files_atomically(std::span<const NewFile> files) {
    write_files_atomically(files, &::write);
}

void write_files_atomically(std::span<const NewFile> files, WriteBytes write_bytes) {
    const SignalHold hold;
    std::list<TemporaryFile> written;
    for (const NewFile& file : files) {
        written.emplace_back(file.path).write_all(file.contents, write_bytes);
        written.back().flush();
    }
    for (TemporaryFile& file : written) {
        file.rename_to_target();
    }
}

void require_writable(const std::filesystem::path& folder) {
    if (std::error_code ignored; !std::filesystem::is_directory(folder, ignored)) {
        throw FileError(fmt::format("the folder {} does not exist", folder.string()));
    }
    const SignalHold hold;
    const TemporaryFile probe(folder / "probe");
}

std::string read_file(const std::filesystem::path& path) {
    std::FILE* file = std::fopen(path.c_str(), "rb");
    if (file == nullptr) {
        throw_file_error("read", path, errno);
    }
    std::string contents;
    char buffer[1 << 16];
    std::size_t num_bytes = 0;
    while ((num_bytes = std::fread(buffer, 1, sizeof buffer, file)) > 0) {
        contents.append(buffer, num_bytes);
    }
    const int error = std::ferror(file) != 0 ? errno : 0;
    std::fclose(file);
    if (error != 0) {
        throw_file_error("read", path, error);
    }
    return contents;
}

}  // namespace nanoserve::report
