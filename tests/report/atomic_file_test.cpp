// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <nanoserve/report/atomic_file.hpp>
#include <nanoserve/report/file_error.hpp>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <fcntl.h>
#include <report/signal_watch.hpp>
#include <report/temporary_folder.hpp>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

using namespace nanoserve::report;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::MessageMatches;
using namespace nanoserve::report::testing;

namespace {

ssize_t write_three_bytes(int descriptor, const void* bytes, std::size_t num_bytes) {
    return ::write(descriptor, bytes, std::min<std::size_t>(num_bytes, 3));
}

ssize_t interrupt_every_other_time(int descriptor, const void* bytes, std::size_t num_bytes) {
    static int num_calls = 0;
    if (++num_calls % 2 == 1) {
        errno = EINTR;
        return -1;
    }
    return write_three_bytes(descriptor, bytes, num_bytes);
}

// A disk with room for three bytes.
ssize_t fill_the_disk(int descriptor, const void* bytes, std::size_t num_bytes) {
    if (num_bytes < 8) {
        errno = ENOSPC;
        return -1;
    }
    return write_three_bytes(descriptor, bytes, num_bytes);
}

// Asked to end in the middle of a file.
ssize_t write_and_get_terminated(int descriptor, const void* bytes, std::size_t num_bytes) {
    ::raise(SIGTERM);
    return write_three_bytes(descriptor, bytes, num_bytes);
}

ssize_t take_nothing(int, const void*, std::size_t) {
    return 0;
}

// A target such as a mount point, which no file can replace.
int rename_all_but_c(const char* from, const char* to) {
    if (std::filesystem::path(to).filename() == "c") {
        errno = EBUSY;
        return -1;
    }
    return ::rename(from, to);
}

std::atomic<bool> is_between_renames = false;

int rename_slowly(const char* from, const char* to) {
    const int status = ::rename(from, to);
    is_between_renames = true;
    is_between_renames.notify_all();
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    return status;
}

}  // namespace

TEST_CASE("a written file reads back byte for byte and leaves no other file", "[report][pure]") {
    const TemporaryFolder folder;
    const std::string contents("line\r\n\0end", 10);
    write_file_atomically(folder.path() / "a.csv", contents);
    CHECK(read_file(folder.path() / "a.csv") == contents);
    CHECK(folder.names() == std::vector<std::string>{"a.csv"});
}

TEST_CASE("writing replaces the old file whole", "[report][pure]") {
    const TemporaryFolder folder;
    write_file_atomically(folder.path() / "a.csv", "the old and longer contents");
    write_file_atomically(folder.path() / "a.csv", "new");
    CHECK(read_file(folder.path() / "a.csv") == "new");
    write_file_atomically(folder.path() / "a.csv", "");
    CHECK(read_file(folder.path() / "a.csv").empty());
}

TEST_CASE("short and interrupted writes are continued", "[report][pure]") {
    const TemporaryFolder folder;
    write_file_atomically(folder.path() / "a", "0123456789", write_three_bytes);
    CHECK(read_file(folder.path() / "a") == "0123456789");
    write_file_atomically(folder.path() / "a", "9876543210", interrupt_every_other_time);
    CHECK(read_file(folder.path() / "a") == "9876543210");
}

TEST_CASE("a full disk leaves the old file whole and no temporary file", "[report][pure]") {
    const TemporaryFolder folder;
    write_file_atomically(folder.path() / "a", "old");
    CHECK_THROWS_MATCHES(write_file_atomically(folder.path() / "a", "0123456789", fill_the_disk),
                         FileError,
                         MessageMatches(ContainsSubstring("/a: No space left on device")));
    CHECK_THROWS_AS(write_file_atomically(folder.path() / "a", "0123", take_nothing), FileError);
    CHECK(read_file(folder.path() / "a") == "old");
    CHECK(folder.names() == std::vector<std::string>{"a"});
}

TEST_CASE("a missing folder is named in one line", "[report][pure]") {
    const TemporaryFolder folder;
    CHECK_THROWS_MATCHES(write_file_atomically(folder.path() / "no" / "a.csv", "x"), FileError,
                         MessageMatches(ContainsSubstring("no/a.csv: No such file or directory") &&
                                        !ContainsSubstring("\n")));
    CHECK(folder.names().empty());
}

TEST_CASE("a folder in the place of the file stays, and the temporary file goes",
          "[report][pure]") {
    const TemporaryFolder folder;
    std::filesystem::create_directory(folder.path() / "a.csv");
    CHECK_THROWS_MATCHES(write_file_atomically(folder.path() / "a.csv", "x"), FileError,
                         MessageMatches(ContainsSubstring("Is a directory")));
    CHECK(folder.names() == std::vector<std::string>{"a.csv"});
    CHECK_THROWS_AS(read_file(folder.path() / "a.csv"), FileError);
}

TEST_CASE("a file that is replaced stays behind its link, and keeps its mode", "[report][pure]") {
    namespace fs = std::filesystem;
    const TemporaryFolder folder;
    fs::create_directory(folder.path() / "real");
    const fs::path real = folder.path() / "real" / "x.csv";
    write_file_atomically(real, "old");
    fs::permissions(real, fs::perms::owner_read | fs::perms::group_read);
    fs::create_symlink("real/x.csv", folder.path() / "first.csv");
    fs::create_symlink("first.csv", folder.path() / "a.csv");
    write_file_atomically(folder.path() / "a.csv", "new");
    CHECK(read_file(real) == "new");
    CHECK(fs::status(real).permissions() == (fs::perms::owner_read | fs::perms::group_read));
    CHECK(fs::is_symlink(folder.path() / "a.csv"));
    CHECK(folder.names() == std::vector<std::string>{"a.csv", "first.csv", "real"});
    fs::remove(real);  // a link that leads nowhere yet
    write_file_atomically(folder.path() / "a.csv", "anew");
    CHECK(read_file(real) == "anew");
    fs::create_symlink("round", folder.path() / "round");
    CHECK_THROWS_MATCHES(write_file_atomically(folder.path() / "round", "x"), FileError,
                         MessageMatches(ContainsSubstring("/round: ")));
}

TEST_CASE("what is no regular file is neither read nor replaced", "[report][pure]") {
    const TemporaryFolder folder;
    const std::filesystem::path fifo = folder.path() / "a.csv";
    REQUIRE(::mkfifo(fifo.c_str(), 0600) == 0);
    CHECK_THROWS_MATCHES(read_file(fifo), FileError,
                         MessageMatches(ContainsSubstring("/a.csv: it is no regular file")));
    CHECK_THROWS_MATCHES(read_file("/dev/zero"), FileError,
                         MessageMatches(ContainsSubstring("/dev/zero: it is no regular file")));
    CHECK_THROWS_MATCHES(require_writable(fifo), FileError,
                         MessageMatches(ContainsSubstring("/a.csv: it is no regular file")));
    CHECK_THROWS_AS(write_file_atomically(fifo, "x"), FileError);
    CHECK(std::filesystem::is_fifo(fifo));
    CHECK_THROWS_MATCHES(read_file(folder.path()), FileError,
                         MessageMatches(ContainsSubstring(": Is a directory")));
}

TEST_CASE("reading a missing file names it", "[report][pure]") {
    CHECK_THROWS_MATCHES(read_file("/nowhere/a.csv"), FileError,
                         MessageMatches(ContainsSubstring("cannot read /nowhere/a.csv")));
}

TEST_CASE("files that belong together are replaced all or none", "[report][pure]") {
    const TemporaryFolder folder;
    const std::vector<NewFile> old = {{folder.path() / "a", "old"}, {folder.path() / "b", "old"}};
    CHECK_NOTHROW(write_files_atomically({}));
    write_files_atomically(old);
    const std::vector<NewFile> too_large = {{folder.path() / "a", ""},
                                            {folder.path() / "b", "0123456789"}};
    CHECK_THROWS_MATCHES(write_files_atomically(too_large, fill_the_disk), FileError,
                         MessageMatches(ContainsSubstring("/b: No space left on device")));
    CHECK(read_file(folder.path() / "a") == "old");
    CHECK(read_file(folder.path() / "b") == "old");
    std::filesystem::remove(folder.path() / "b");
    std::filesystem::create_directory(folder.path() / "b");
    CHECK_THROWS_AS(write_files_atomically(too_large), FileError);
    CHECK(read_file(folder.path() / "a") == "old");
    CHECK(folder.names() == std::vector<std::string>{"a", "b"});
}

TEST_CASE("a name that can't be taken leaves all files that belong together as they were",
          "[report][pure]") {
    const TemporaryFolder folder;
    const std::vector<NewFile> old = {{folder.path() / "a", "old"}, {folder.path() / "c", "old"}};
    write_files_atomically(old);
    const std::vector<NewFile> files = {
        {folder.path() / "a", "new"}, {folder.path() / "b", "new"}, {folder.path() / "c", "new"}};
    CHECK_THROWS_MATCHES(write_files_atomically(files, &::write, rename_all_but_c), FileError,
                         MessageMatches(ContainsSubstring("/c: Device or resource busy")));
    CHECK(read_file(folder.path() / "a") == "old");
    CHECK(read_file(folder.path() / "c") == "old");
    CHECK(folder.names() == std::vector<std::string>{"a", "c"});
}

TEST_CASE("files of two writers at once are those of one", "[report][pure]") {
    const TemporaryFolder folder;
    const auto pair_of = [&](const char* contents) {
        return std::vector<NewFile>{{folder.path() / "a", contents},
                                    {folder.path() / "b", contents}};
    };
    is_between_renames = false;
    std::thread first([&] { write_files_atomically(pair_of("first"), &::write, rename_slowly); });
    is_between_renames.wait(false);
    write_files_atomically(pair_of("second"));
    first.join();
    CHECK(read_file(folder.path() / "a") == "second");
    CHECK(read_file(folder.path() / "b") == "second");
    CHECK(folder.names() == std::vector<std::string>{"a", "b"});
}

TEST_CASE("a writer that was stopped in the middle stops no other", "[report][pure]") {
    const TemporaryFolder folder;
    const int stopped = ::open(folder.path().c_str(), O_RDONLY | O_DIRECTORY);
    REQUIRE(::flock(stopped, LOCK_EX) == 0);
    write_file_atomically(folder.path() / "a", "new");
    CHECK(read_file(folder.path() / "a") == "new");
    ::close(stopped);
}

TEST_CASE("a signal in the middle of a file waits until the file is whole", "[report][pure]") {
    const TemporaryFolder folder;
    const SignalWatch watch(folder.path() / "b");
    const std::vector<NewFile> files = {{folder.path() / "a", "first"},
                                        {folder.path() / "b", "second"}};
    write_files_atomically(files, write_and_get_terminated);
    CHECK(num_signals == 1);
    CHECK(was_complete == 1);
    CHECK(read_file(folder.path() / "b") == "second");
    CHECK_THROWS_AS(write_file_atomically(folder.path() / "c", "0123456789",
                                          [](int descriptor, const void* bytes, std::size_t n) {
                                              write_and_get_terminated(descriptor, bytes, n);
                                              errno = ENOSPC;
                                              return ssize_t{-1};
                                          }),
                    FileError);
    CHECK(num_signals == 2);
    CHECK(folder.names() == std::vector<std::string>{"a", "b"});
}

TEST_CASE("a folder that takes no file is found out before there is one", "[report][pure]") {
    const TemporaryFolder folder;
    CHECK_NOTHROW(require_writable(folder.path() / "a.csv"));
    CHECK(folder.names().empty());
    write_file_atomically(folder.path() / "file", "");
    CHECK_NOTHROW(require_writable(folder.path() / "file"));
    CHECK_THROWS_MATCHES(require_writable(folder.path() / "no" / "a.csv"), FileError,
                         MessageMatches(ContainsSubstring("/no does not exist")));
    CHECK_THROWS_MATCHES(require_writable(folder.path() / "file" / "a.csv"), FileError,
                         MessageMatches(ContainsSubstring("/file is no folder")));
    std::filesystem::create_symlink("nowhere", folder.path() / "link");
    CHECK_THROWS_MATCHES(require_writable(folder.path() / "link" / "a.csv"), FileError,
                         MessageMatches(ContainsSubstring("/link is no folder")));
    // A folder in which nobody can make a file, not even root.
    CHECK_THROWS_MATCHES(require_writable("/proc/self/a.csv"), FileError,
                         MessageMatches(ContainsSubstring("cannot write /proc/self/a.csv: ")));
}

TEST_CASE("what no file can replace is found out before there is one", "[report][pure]") {
    const TemporaryFolder folder;
    std::filesystem::create_directory(folder.path() / "a.csv");
    CHECK_THROWS_MATCHES(require_writable(folder.path() / "a.csv"), FileError,
                         MessageMatches(ContainsSubstring("/a.csv: Is a directory")));
    CHECK_THROWS_MATCHES(require_writable(folder.path() / (std::string(245, 'x') + ".csv")),
                         FileError, MessageMatches(ContainsSubstring("File name too long")));
    CHECK(folder.names() == std::vector<std::string>{"a.csv"});
}
