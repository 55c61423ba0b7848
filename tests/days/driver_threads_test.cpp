// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <nanoserve/report/atomic_file.hpp>

#include <catch2/catch_test_macros.hpp>
#include <gpu_bench/gpu_facts.hpp>
#include <report/signal_watch.hpp>
#include <report/temporary_folder.hpp>
#include <unistd.h>

#include <csignal>
#include <vector>

using namespace nanoserve;
using namespace nanoserve::report::testing;

namespace {

// As `kill` does it from outside: any thread may take the signal.
ssize_t write_and_get_terminated(int descriptor, const void* bytes, std::size_t num_bytes) {
    ::kill(::getpid(), SIGTERM);
    return ::write(descriptor, bytes, num_bytes);
}

}  // namespace

TEST_CASE("no thread of the driver takes a signal in the middle of a file", "[days]") {
    if (const auto reason = gpu_bench::reason_for_no_measurement()) {
        SKIP(*reason);
    }
    (void)gpu_bench::gpu_facts();  // graphs have run
    const TemporaryFolder folder;
    const SignalWatch watch(folder.path() / "b");
    const std::vector<report::NewFile> files = {{folder.path() / "a", "first"},
                                                {folder.path() / "b", "second"}};
    report::write_files_atomically(files, write_and_get_terminated);
    CHECK(num_signals == 1);  // the two are one, since both wait
    CHECK(was_complete == 1);
}
