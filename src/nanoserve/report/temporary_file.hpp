// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace nanoserve::report {

/// The call that hands bytes to the operating system; it has the signature and the error rules of
/// POSIX `write`.
using WriteBytes = ssize_t (*)(int descriptor, const void* bytes, std::size_t num_bytes);

/// A new file beside the one that it is to replace, under a name that nobody else has. It is
/// removed again unless it is released. Needs a `SignalHold` around its life.
class TemporaryFile {
  public:
    /// Makes the file, empty. Where `target` is a link, the file to which it leads is the one to
    /// replace. Throws `FileError`, which names `target`: a folder that is missing or takes no
    /// file, a name that is too long, something in the target's place that is no regular file.
    explicit TemporaryFile(const std::filesystem::path& target);

    TemporaryFile(const TemporaryFile&) = delete;
    TemporaryFile& operator=(const TemporaryFile&) = delete;
    ~TemporaryFile();

    /// Open for reading and writing; above those of the standard streams, so that a stream which is
    /// closed never ends in the file. -1 after `flush`.
    [[nodiscard]] int descriptor() const { return descriptor_; }

    [[nodiscard]] const std::filesystem::path& path() const { return path_; }
    /// As it was given, for people.
    [[nodiscard]] const std::filesystem::path& name() const { return name_; }
    /// Behind its links.
    [[nodiscard]] const std::filesystem::path& target() const { return target_; }

    /// Appends all bytes. Throws `FileError`.
    void write_all(std::string_view contents, WriteBytes write_bytes);

    /// Brings the bytes to the disk and closes the file, with the mode of the one that stands at
    /// the target. Throws `FileError`.
    void flush();

    /// Leaves the file where it is: it has another name by now.
    void release() { is_released_ = true; }

  private:
    std::filesystem::path name_;
    std::filesystem::path target_;
    std::filesystem::path path_;
    std::optional<mode_t> mode_;  // of what stands there
    int descriptor_ = -1;
    bool is_released_ = false;
};

}  // namespace nanoserve::report
