// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// Whole files, in and out. A reader of a written path sees the old file or the new one, never a
// half.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

namespace nanoserve::report {

/// The call that hands bytes to the operating system; it has the signature and the error rules of
/// POSIX `write`.
using WriteBytes = ssize_t (*)(int descriptor, const void* bytes, std::size_t num_bytes);

/// Replaces `path` by a file that holds `contents`.
///
/// The bytes go to a temporary file in the same folder, are flushed to the disk, and take the name
/// `path` in one step. On any failure (missing folder, no permission, disk full, a folder in the
/// way) the temporary file is removed, whatever stood at `path` is left as it was, and `FileError`
/// says which file and why.
void write_file_atomically(const std::filesystem::path& path, std::string_view contents);

/// The same with another `write`, so that a test can fill the disk.
void write_file_atomically(const std::filesystem::path& path, std::string_view contents,
                           WriteBytes write_bytes);

/// The contents of `path`. Throws `FileError` when it is no readable file.
[[nodiscard]] std::string read_file(const std::filesystem::path& path);

}  // namespace nanoserve::report
