// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <nanoserve/report/atomic_file.hpp>
#include <nanoserve/report/file_error.hpp>
#include <nanoserve/report/signal_hold.hpp>
#include <nanoserve/report/temporary_file.hpp>

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <list>
#include <string>
#include <system_error>

namespace nanoserve::report {

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

void write_files_atomically(std::span<const NewFile> files, WriteBytes write_bytes,
                            RenameFile rename_file) {
    const SignalHold hold;
    std::list<TemporaryFile> written;
    for (const NewFile& file : files) {
        written.emplace_back(file.path).write_all(file.contents, write_bytes);
        written.back().flush();
    }
    replace_targets(written, rename_file);
}

void require_writable(const std::filesystem::path& path) {
    const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : ".";
    if (std::error_code ignored; !std::filesystem::is_directory(folder, ignored)) {
        const bool is_there = std::filesystem::exists(symlink_status(folder, ignored));
        throw FileError(is_there ? folder.string() + " is no folder"
                                 : "the folder " + folder.string() + " does not exist");
    }
    const SignalHold hold;
    const TemporaryFile probe(path);
}

std::string read_file(const std::filesystem::path& path) {
    std::FILE* file = std::fopen(path.c_str(), "rb");
    if (file == nullptr) {
        throw FileError("read", path, errno);
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
        throw FileError("read", path, error);
    }
    return contents;
}

}  // namespace nanoserve::report
