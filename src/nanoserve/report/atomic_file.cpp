// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <nanoserve/report/atomic_file.hpp>
#include <nanoserve/report/file_error.hpp>
#include <nanoserve/report/signal_hold.hpp>
#include <nanoserve/report/temporary_file.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <list>
#include <string>
#include <system_error>

namespace nanoserve::report {
namespace {

// A file that is open for reading. Opening never waits for who writes into a pipe.
class Descriptor {
  public:
    explicit Descriptor(const std::filesystem::path& path)
        : descriptor_(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC)) {
        if (descriptor_ < 0) {
            throw FileError("read", path, errno);
        }
    }
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    ~Descriptor() { ::close(descriptor_); }

    [[nodiscard]] int get() const { return descriptor_; }

  private:
    int descriptor_;
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
    const Descriptor file(path);
    struct stat facts {};
    if (::fstat(file.get(), &facts) != 0) {
        throw FileError("read", path, errno);
    }
    if (!S_ISREG(facts.st_mode) && !S_ISDIR(facts.st_mode)) {
        throw FileError("read", path, "it is no regular file");
    }
    std::string contents;
    char buffer[1 << 16];
    ssize_t num_bytes = 0;
    while ((num_bytes = ::read(file.get(), buffer, sizeof buffer)) != 0) {
        if (num_bytes < 0 && errno != EINTR) {
            throw FileError("read", path, errno);
        }
        contents.append(buffer, num_bytes > 0 ? static_cast<std::size_t>(num_bytes) : 0);
    }
    return contents;
}

}  // namespace nanoserve::report
