// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <nanoserve/report/descriptor.hpp>
#include <nanoserve/report/file_error.hpp>
#include <nanoserve/report/temporary_file.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

namespace nanoserve::report {
namespace {

// The path to which the links at `path` lead, as for who opens it; the last may be missing.
std::filesystem::path behind_links(const std::filesystem::path& path) {
    constexpr int kMaxLinks = 40;  // the kernel's
    std::filesystem::path target = path;
    for (int i = 0; i < kMaxLinks; ++i) {
        std::error_code error;
        const std::filesystem::path next = std::filesystem::read_symlink(target, error);
        if (error) {  // no link
            return target;
        }
        target = target.parent_path() / next;
    }
    throw FileError("write", path, ELOOP);
}

}  // namespace

TemporaryFile::TemporaryFile(const std::filesystem::path& target)
    : name_(target), target_(behind_links(target)) {
    struct stat earlier {};
    if (::stat(target_.c_str(), &earlier) == 0) {
        if (!S_ISREG(earlier.st_mode)) {
            throw S_ISDIR(earlier.st_mode) ? FileError("write", name_, EISDIR)
                                           : FileError("write", name_, "it is no regular file");
        }
        mode_ = earlier.st_mode & 0777;
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
        throw FileError("write", name_, error);
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
            throw FileError("write", name_, written == 0 ? EIO : errno);
        }
        contents.remove_prefix(static_cast<std::size_t>(written));
    }
}

void TemporaryFile::flush() {
    if (mode_) {
        (void)::fchmod(descriptor_, *mode_);  // a file system without modes has none to keep
    }
    if (::fsync(descriptor_) != 0) {
        throw FileError("write", name_, errno);
    }
    // Some file systems report a full disk only here.
    if (::close(std::exchange(descriptor_, -1)) != 0) {
        throw FileError("write", name_, errno);
    }
}

}  // namespace nanoserve::report
