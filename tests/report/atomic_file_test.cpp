// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <nanoserve/report/atomic_file.hpp>
#include <nanoserve/report/file_error.hpp>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <report/temporary_folder.hpp>
#include <unistd.h>

#include <cerrno>
#include <string>

using namespace nanoserve::report;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::MessageMatches;
using nanoserve::report::testing::TemporaryFolder;

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

ssize_t take_nothing(int, const void*, std::size_t) {
    return 0;
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

TEST_CASE("reading a missing file names it", "[report][pure]") {
    CHECK_THROWS_MATCHES(read_file("/nowhere/a.csv"), FileError,
                         MessageMatches(ContainsSubstring("cannot read /nowhere/a.csv")));
}
