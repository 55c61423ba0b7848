// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace nanoserve::report {

/// The same open file under a descriptor above those of the standard streams. The system gives the
/// lowest number that is free: 1, say, where a shell ran the program with `>&-`, and what is
/// printed would end in the file. Returns -1, with errno set, when there is none; the given one is
/// then closed.
[[nodiscard]] inline int above_standard_streams(int descriptor) {
    if (descriptor < 0 || descriptor > STDERR_FILENO) {
        return descriptor;
    }
    const int above = ::fcntl(descriptor, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    const int error = errno;
    ::close(descriptor);
    errno = error;
    return above;
}

}  // namespace nanoserve::report
