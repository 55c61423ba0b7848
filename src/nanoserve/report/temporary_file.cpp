// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <nanoserve/report/descriptor.hpp>
#include <nanoserve/report/file_error.hpp>
#include <nanoserve/report/temporary_file.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

namespace nanoserve::report {

TemporaryFile::TemporaryFile(std::filesystem::path target) : target_(std::move(target)) {
    if (std::error_code ignored; std::filesystem::is_directory(target_, ignored)) {
        throw FileError("write", target_, EISDIR);
    }
    const std::string stem = target_.string() + "." + std::to_string(::getpid());
    int opened = -1;
    for (int attempt = 0; opened < 0 && attempt < 100; ++attempt) {
        path_ = stem + "-" + std::to_string(attempt) + ".tmp";
        opened = ::open(path_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (opened < 0 && errno != EEXIST) {
            break;
        }
    }
    descriptor_ = above_standard_streams(opened);
    if (descriptor_ < 0) {
        const int error = errno;
        if (opened >= 0) {
            ::unlink(path_.c_str());
        }
        throw FileError("write", target_, error);
    }
}

TemporaryFile::~TemporaryFile() {
    if (descriptor_ >= 0) {
        ::close(descriptor_);
    }
    if (!is_released_) {
        ::unlink(path_.c_str());
    }
}

// `write` may take fewer bytes than it was given, and a signal may interrupt it.
void TemporaryFile::write_all(std::string_view contents, WriteBytes write_bytes) {
    while (!contents.empty()) {
        const ssize_t written = write_bytes(descriptor_, contents.data(), contents.size());
        if (written < 0 && errno == EINTR) {
            continue;
        }
        if (written <= 0) {
            throw FileError("write", target_, written == 0 ? EIO : errno);
        }
        contents.remove_prefix(static_cast<std::size_t>(written));
    }
}

void TemporaryFile::flush() {
    if (::fsync(descriptor_) != 0) {
        throw FileError("write", target_, errno);
    }
    // Some file systems report a full disk only here.
    if (::close(std::exchange(descriptor_, -1)) != 0) {
        throw FileError("write", target_, errno);
    }
}

}  // namespace nanoserve::report
