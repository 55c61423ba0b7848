// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <nanoserve/report/descriptor.hpp>
#include <nanoserve/report/file_error.hpp>
#include <nanoserve/report/replace_targets.hpp>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <thread>
#include <utility>

namespace nanoserve::report {
namespace {

// While it lives, the folder is locked, if it can be.
class FolderLock {
  public:
    explicit FolderLock(const std::filesystem::path& folder)
        : descriptor_(above_standard_streams(
              ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC))) {
        for (int i = 0; i < kPatienceMs && is_taken(); ++i) {
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
    }
    FolderLock(const FolderLock&) = delete;
    FolderLock& operator=(const FolderLock&) = delete;
    ~FolderLock() {
        if (descriptor_ >= 0) {
            ::close(descriptor_);
        }
    }

  private:
    // Two renames take less than one.
    static constexpr int kPatienceMs = 1000;

    [[nodiscard]] bool is_taken() const {
        return ::flock(descriptor_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    }

    int descriptor_;
};

// What stands at a path, kept under a second name for as long as this lives.
class EarlierFile {
  public:
    EarlierFile(std::filesystem::path path, std::filesystem::path kept)
        : path_(std::move(path)), kept_(std::move(kept)) {
        ::unlink(kept_.c_str());  // of a program that was killed
        existed_ = ::link(path_.c_str(), kept_.c_str()) == 0 || errno != ENOENT;
    }
    EarlierFile(const EarlierFile&) = delete;
    EarlierFile& operator=(const EarlierFile&) = delete;
    ~EarlierFile() { ::unlink(kept_.c_str()); }

    void put_back() const {
        if (::rename(kept_.c_str(), path_.c_str()) != 0 && !existed_) {
            ::unlink(path_.c_str());
        }
    }

  private:
    std::filesystem::path path_;
    std::filesystem::path kept_;
    bool existed_ = false;
};

}  // namespace

void replace_targets(std::list<TemporaryFile>& files, RenameFile rename_file) {
    if (files.empty()) {
        return;
    }
    const FolderLock lock(files.front().target().parent_path());
    std::list<EarlierFile> replaced;
    for (TemporaryFile& file : files) {
        const std::filesystem::path kept =
            std::filesystem::path(file.path()).replace_extension(".old.tmp");
        const EarlierFile& earlier = replaced.emplace_back(file.target(), kept);
        if (rename_file(file.path().c_str(), file.target().c_str()) != 0) {
            const FileError error("write", file.name(), errno);
            for (const EarlierFile& before : replaced) {
                if (&before != &earlier) {
                    before.put_back();
                }
            }
            throw error;
        }
        file.release();
    }
}

}  // namespace nanoserve::report
