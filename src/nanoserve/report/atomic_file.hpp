// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// Whole files, in and out. A reader of a written path sees the old file or the new one, never a
// half.
#pragma once

#include <nanoserve/report/replace_targets.hpp>
#include <nanoserve/report/temporary_file.hpp>

#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace nanoserve::report {

/// A file that is to be written.
struct NewFile {
    std::filesystem::path path;
    std::string contents;
};

/// Replaces `path` by a file that holds `contents`.
///
/// The bytes go to a temporary file in the same folder, are flushed to the disk, and take the name
/// `path` in one step. A file that is replaced keeps its mode, and one behind a link is replaced
/// there. On any failure (missing folder, no permission, disk full, a folder in the way) the
/// temporary file is removed, whatever stood at `path` is left as it was, and `FileError` says
/// which file and why. SIGINT, SIGTERM and SIGHUP wait until it is done, one way or the other.
void write_file_atomically(const std::filesystem::path& path, std::string_view contents);

/// The same with another `write`, so that a test can fill the disk.
void write_file_atomically(const std::filesystem::path& path, std::string_view contents,
                           WriteBytes write_bytes);

/// The same for files that belong together: all bytes are on the disk before the first file takes
/// its name, so a failure to write one leaves all of them as they were, and so does a name that
/// can't be taken; see `replace_targets`.
void write_files_atomically(std::span<const NewFile> files);

/// The same with another `write` and `rename`.
void write_files_atomically(std::span<const NewFile> files, WriteBytes write_bytes,
                            RenameFile rename_file = &::rename);

/// Throws `FileError` unless a file can be written at `path`: its folder is there and takes a file
/// of that name (one is made beside it and removed), and no folder is in its place. To be asked
/// before the minutes that a measurement takes.
void require_writable(const std::filesystem::path& path);

/// The contents of `path`. Throws `FileError` when it is no readable file; a pipe or a device is
/// none.
[[nodiscard]] std::string read_file(const std::filesystem::path& path);

}  // namespace nanoserve::report
