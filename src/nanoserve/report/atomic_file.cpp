// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <nanoserve/report/atomic_file.hpp>
#include <nanoserve/report/file_error.hpp>

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <system_error>

namespace nanoserve::report {
namespace {

[[noreturn]] void throw_file_error(const char* verb, const std::filesystem::path& path, int error) {
    throw FileError(fmt::format("cannot {} {}: {}", verb, path.string(),
                                std::generic_category().message(error)));
}

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

    void rename_to_target() {
        if (::fsync(descriptor_) != 0) {
            throw_file_error("write", target_, errno);
        }
        // Some file systems report a full disk only here.
        const int closed = ::close(descriptor_);
        descriptor_ = -1;
        if (closed != 0 || std::rename(path_.c_str(), target_.c_str()) != 0) {
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
    TemporaryFile file(path);
    file.write_all(contents, write_bytes);
    file.rename_to_target();
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
